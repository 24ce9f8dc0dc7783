// Paths of quote links that no router can read, such as a half percent sign: to a visitor they are unknown links like all others.

const folder = '/quote/share/'
const readable = /^\/quote\/share\/[A-Za-z0-9_-]{1,100}(\?|$)/
const noToken = `${folder}-`

/** The URL as it is; for whatever is no single plain word behind /quote/share/, that of a link that leads nowhere, with its query. */
export function linkPath(url: string): string {
  if (!url.startsWith(folder) || readable.test(url)) return url
  const query = url.indexOf('?')
  return query === -1 ? noToken : noToken + url.slice(query)
}
