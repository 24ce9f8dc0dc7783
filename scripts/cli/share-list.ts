// Lists the links of a quote on the command line.
import { type ListedLink, listQuoteLinks } from '../../src/quotes/links/manage-links.ts'
import { countNoun } from '../../src/text/count-noun.ts'
import type { ShareContext } from './share-context.ts'

/** Prints the links of all versions of a quote. Returns the exit status. */
export async function printLinks(
  { db, countsViews, isJson }: ShareContext,
  number: string,
): Promise<number> {
  const listed = await listQuoteLinks(db, number)
  // While views are not counted, zero says nothing. Views that were counted earlier are shown.
  const links = listed.map(({ views, ...link }) => ({
    ...link,
    views: views > 0 || countsViews ? views : null,
  }))
  if (links.length === 0) console.error(`Quote ${number} has no links.`)
  for (const link of links) console.log(isJson ? JSON.stringify(link) : describeLink(link))
  return 0
}

function describeLink(link: Omit<ListedLink, 'views'> & { views: number | null }): string {
  const { id, version, createdAt, isErased, views, lastViewedAt } = link
  const erased = isErased ? '\tdocument erased' : ''
  const opened = lastViewedAt
    ? `\topened ${countNoun(views ?? 0, 'time')}, last ${lastViewedAt.toISOString()}`
    : ''
  const created = `created ${createdAt.toISOString()}`
  return `${id}\tversion ${version}\t${created}\t${describeLinkState(link)}${erased}${opened}`
}

function describeLinkState({
  expiresAt,
  isExpired,
  revokedAt,
}: Pick<ListedLink, 'expiresAt' | 'isExpired' | 'revokedAt'>): string {
  if (revokedAt) return `revoked ${revokedAt.toISOString()}`
  if (!expiresAt) return 'never expires'
  return `${isExpired ? 'expired' : 'expires'} ${expiresAt.toISOString()}`
}
