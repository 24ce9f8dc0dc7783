// Reads REDIS_URL: one server, a server that Sentinels choose, or a cluster.

type Node = { host: string; port: number }
type Login = { username?: string; password?: string }
type Common = { tls: boolean; login: Login }

export type RedisAddress = Common &
  (
    | { kind: 'server'; node: Node; database: number }
    | {
        kind: 'sentinel'
        sentinels: Node[]
        sentinelLogin: Login
        /** The name of the monitored primary, for example `mymaster`. */
        primaryName: string
        database: number
      }
    | { kind: 'cluster'; nodes: Node[] }
  )

/** How the setting is written. */
const redisUrlForms =
  'redis://[user:password@]host[:port][/database], ' +
  'redis+sentinel://[user:password@]host[:port],…/name of the primary[/database]' +
  '[?sentinel_user=…&sentinel_password=…], or ' +
  'redis+cluster://[user:password@]host[:port],…; rediss… with TLS'

const defaultPorts = { server: 6379, sentinel: 26379, cluster: 6379 }

/**
 * Returns what the URL names. Throws an error that says what is wrong, without the URL, which
 * contains a password.
 */
export function parseRedisUrl(url: string): RedisAddress {
  const parts = urlPattern.exec(url)?.groups
  if (!parts) throw new Error(`it must be ${redisUrlForms}`)
  const { tls, kind: kindText, user, password, hosts = '', path = '', query = '' } = parts
  const kind = (kindText ?? 'server') as RedisAddress['kind']
  const nodes = hosts.split(',').map((host) => parseNode(host, defaultPorts[kind]))
  const common = { tls: tls !== undefined, login: loginOf(user, password) }
  if (kind !== 'sentinel' && query !== '') throw new Error('it must have no parameters after "?"')
  if (kind === 'cluster') {
    if (path !== '') throw new Error('a cluster has no databases: leave out what follows the hosts')
    return { ...common, kind, nodes }
  }
  if (kind === 'server') {
    const [node, another] = nodes
    if (!node || another)
      throw new Error('several hosts are possible with redis+sentinel:// and redis+cluster:// only')
    return { ...common, kind, node, database: parseDatabase(path) }
  }
  const [name = '', database = ''] = path.split('/')
  if (name === '')
    throw new Error('after the Sentinels it needs the name of the primary, for example /mymaster')
  return {
    ...common,
    kind,
    sentinels: nodes,
    sentinelLogin: parseSentinelLogin(query),
    primaryName: decodeURIComponent(name),
    database: parseDatabase(database),
  }
}

const urlPattern = new RegExp(
  [
    '^redis(?<tls>s)?(?:\\+(?<kind>sentinel|cluster))?://',
    '(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?',
    '(?<hosts>[^@/?#]+)(?:/(?<path>[^?#]*))?(?:\\?(?<query>[^#]*))?$',
  ].join(''),
)

const passwordAdvice = 'in a password, write % as %25, / as %2F, @ as %40 and : as %3A'

function parseNode(text: string, defaultPort: number): Node {
  const parts = /^(?:\[(?<ipv6>[0-9a-f:.]+)\]|(?<name>[^:[\]]+))(?::(?<port>\d{1,5}))?$/i.exec(text)
  const { ipv6, name, port = String(defaultPort) } = parts?.groups ?? {}
  const host = ipv6 ?? name
  if (host === undefined || Number(port) > 65_535 || Number(port) === 0)
    throw new Error(
      `each host must be a name or an address, with a port from 1 to 65535; ${passwordAdvice}`,
    )
  return { host, port: Number(port) }
}

function parseDatabase(text: string): number {
  if (!/^\d{0,5}$/.test(text)) throw new Error('the database must be a number')
  return Number(text)
}

function parseSentinelLogin(query: string): Login {
  const parameters = new URLSearchParams(query)
  for (const name of parameters.keys())
    if (name !== 'sentinel_user' && name !== 'sentinel_password')
      throw new Error('its parameters may be sentinel_user and sentinel_password only')
  const [user, password] = [parameters.get('sentinel_user'), parameters.get('sentinel_password')]
  return { ...(user && { username: user }), ...(password && { password }) }
}

function loginOf(user = '', password = ''): Login {
  try {
    return {
      ...(user && { username: decodeURIComponent(user) }),
      ...(password && { password: decodeURIComponent(password) }),
    }
  } catch (cause) {
    throw new Error(`the user or password has a % that is no code; ${passwordAdvice}`, { cause })
  }
}
