// Revokes quote links for the command line.
import {
  listQuoteLinks,
  revokeAllLinksOfQuote,
  revokeQuoteLink,
} from '../../src/quotes/links/manage-links.ts'
import { countNoun } from '../../src/text/count-noun.ts'
import { parseWholeNumber } from './command.ts'
import { readLines, type ShareContext } from './share-context.ts'

/** The highest version or id that is accepted. It is an integer of PostgreSQL. */
export const maxWholeNumber = 999_999_999

/** Revokes a link and returns the exit status. Throws an error if there is no open link. */
export async function revokeOneLink({ db, isJson }: ShareContext, id: string): Promise<number> {
  if (!(await revokeQuoteLink(db, id)))
    throw new Error(`There is no link ${id}, or it is already revoked.`)
  printRevokedLink(id, isJson)
  return 0
}

/** Revokes the open links of a quote, or of one of its versions. Returns the exit status. */
export async function revokeLinksOfQuote(
  { db, isJson }: ShareContext,
  number: string,
  version: number | undefined,
): Promise<number> {
  const quote = `quote ${number}${version === undefined ? '' : ` version ${version}`}`
  const links = await listQuoteLinks(db, number)
  if (!links.some((link) => version === undefined || link.version === version))
    throw new Error(`There is no link of ${quote}. Is the number right?`)
  const revoked = await revokeAllLinksOfQuote(db, number, version)
  if (isJson) console.log(JSON.stringify({ number, version: version ?? null, revoked }))
  else if (revoked === 0) console.log(`There is no open link of ${quote}.`)
  else console.log(`${countNoun(revoked, 'link')} of ${quote} revoked.`)
  return 0
}

/**
 * Revokes the links whose ids are in a file, and returns the exit status. Revokes none if a line is
 * no id.
 */
export async function revokeManyLinks({ db, isJson }: ShareContext, file: string): Promise<number> {
  const ids: string[] = []
  for await (const line of readLines(file))
    ids.push(String(parseWholeNumber('ID', line, maxWholeNumber)))
  let revokedCount = 0
  let missingCount = 0
  for (const id of ids) {
    if (await revokeQuoteLink(db, id)) {
      printRevokedLink(id, isJson)
      revokedCount += 1
    } else {
      console.error(`There is no link ${id}, or it is already revoked.`)
      missingCount += 1
    }
  }
  console.error(`${countNoun(revokedCount, 'link')} revoked, ${missingCount} not found.`)
  return missingCount > 0 ? 1 : 0
}

function printRevokedLink(id: string, isJson: boolean): void {
  console.log(isJson ? JSON.stringify({ id, revoked: 1 }) : `Link ${id} is revoked.`)
}
