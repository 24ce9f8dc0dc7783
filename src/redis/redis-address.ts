// Reads REDIS_URL: one server, a server that Sentinels choose, or a cluster.

type Node = { host: string; port: number }
type Login = { username?: string; password?: string }

export type RedisAddress = { tls: boolean; login: Login; nodes: Node[]; database: number } & (
  | { kind: 'server' | 'cluster' }
  /** The nodes are the Sentinels. `primaryName` is that of the monitored primary. */
  | { kind: 'sentinel'; sentinelLogin: Login; primaryName: string }
)

/** How the setting is written. */
const redisUrlForms =
  'redis://[user:password@]host[:port][/database], ' +
  'redis+sentinel://[user:password@]host[:port],…/name of the primary[/database]' +
  '[?sentinel_user=…&sentinel_password=…], or ' +
  'redis+cluster://[user:password@]host[:port],…; rediss… with TLS. ' +
  'In a password, write % as %25, / as %2F, @ as %40 and : as %3A'

const defaultPorts = { server: 6379, sentinel: 26379, cluster: 6379 }

/** Returns what the URL names. The error does not contain the URL, which contains a password. */
export function parseRedisUrl(url: string): RedisAddress {
  try {
    return parse(url)
  } catch {
    throw new Error(`REDIS_URL must be ${redisUrlForms}`)
  }
}

function parse(url: string): RedisAddress {
  const parts = urlPattern.exec(url)?.groups
  if (!parts) throw new Error('another scheme')
  const { tls, login = '', hosts = '', rest = '' } = parts
  const kind = (parts.kind ?? 'server') as RedisAddress['kind']
  const { username, password, pathname, searchParams } = new URL(`redis://${login}hosts${rest}`)
  const nodes = hosts.split(',').map((host) => parseNode(host, defaultPorts[kind]))
  const names = pathname.split('/').slice(1).map(decodeURIComponent)
  const primaryName = kind === 'sentinel' ? names.shift() : undefined
  const [database = ''] = names
  const isValid =
    (kind === 'server' ? nodes.length === 1 : true) &&
    (kind === 'cluster' ? database === '' : /^\d{0,5}$/.test(database)) &&
    (kind === 'sentinel' ? primaryName : searchParams.size === 0)
  if (!isValid) throw new Error('not valid')
  const common = {
    tls: tls !== undefined,
    login: toLogin(decodeURIComponent(username), decodeURIComponent(password)),
    nodes,
    database: Number(database),
  }
  if (kind !== 'sentinel') return { ...common, kind }
  const sentinelLogin = toLogin(
    searchParams.get('sentinel_user'),
    searchParams.get('sentinel_password'),
  )
  return { ...common, kind, primaryName: primaryName ?? '', sentinelLogin }
}

const urlPattern =
  /^redis(?<tls>s)?(?:\+(?<kind>sentinel|cluster))?:\/\/(?<login>[^@/?#]*@)?(?<hosts>[^@/?#]+)(?<rest>[/?].*)?$/

function parseNode(text: string, defaultPort: number): Node {
  const { hostname, port } = new URL(`redis://${text}`)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || defaultPort) }
}

const toLogin = (username: string | null, password: string | null): Login => ({
  ...(username && { username }),
  ...(password && { password }),
})
