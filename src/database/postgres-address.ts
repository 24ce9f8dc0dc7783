// Parses the URL of a database. It may name several hosts, one of which is the primary.

export type PostgresAddress = {
  /** One URL for each host, in the order of the list. */
  urls: [string, ...string[]]
  /** Whether a server that is in recovery, such as a replica, must not be used. */
  needsPrimary: boolean
  login: { name: string; password: string }
}

/** The values of libpq that mean the primary. No other works, because the programs write. */
const primaryValues = ['read-write', 'primary']

/**
 * Parses a URL such as `postgres://u:p@h1:5432,h2:5432/db`. With several hosts, and with
 * `target_session_attrs=read-write`, only the primary is used. Throws an error that says what is
 * wrong, without the URL, which contains a password.
 */
export function parsePostgresUrl(url: string): PostgresAddress {
  const parts = urlPattern.exec(url)?.groups
  if (!parts) throw new Error('it must be postgres://user:password@host:port[,host:port…]/database')
  const { scheme = '', login = '', hosts = '', path = '', query = '' } = parts
  const parameters = new URLSearchParams(query)
  const target = parameters.get('target_session_attrs')
  if (target !== null && !primaryValues.includes(target))
    throw new Error('target_session_attrs must be read-write, because the programs write')
  const names = hosts.split(',')
  if (target === null && names.length === 1)
    return { urls: [url], needsPrimary: false, login: parseLogin(login) }
  parameters.delete('target_session_attrs')
  const rest = `${path}${parameters.size > 0 ? `?${parameters}` : ''}`
  const [first = '', ...others] = names.map((host) => buildUrl(`${scheme}${login}`, host, rest))
  return { urls: [first, ...others], needsPrimary: true, login: parseLogin(login) }
}

const passwordAdvice = 'in a password, write % as %25, / as %2F, @ as %40 and : as %3A'

const urlPattern = new RegExp(
  '^(?<scheme>postgres(?:ql)?://)(?<login>[^@/?#]*@)?(?<hosts>[^@/?#]*)' +
    '(?<path>/[^?#@]*)?(?:\\?(?<query>[^#]*))?$',
)

function buildUrl(start: string, host: string, rest: string): string {
  const url = `${start}${host}${rest}`
  if (host === '' || !URL.canParse(url))
    throw new Error(
      `each host must be a name or an address, with a port from 1 to 65535; ${passwordAdvice}`,
    )
  return url
}

function parseLogin(login: string): PostgresAddress['login'] {
  const [name = '', ...password] = login.replace(/@$/, '').split(':')
  try {
    return { name: decodeURIComponent(name), password: decodeURIComponent(password.join(':')) }
  } catch (cause) {
    throw new Error(`the user or password has a % that is no code; ${passwordAdvice}`, { cause })
  }
}
