// Creates quote links for the command line.
import { isLoopbackName } from '../../src/http/host-header.ts'
import {
  type CreatedLink,
  createQuoteLinkWithDetails,
  LinkRefusedError,
  type NewLink,
} from '../../src/quotes/links/manage-links.ts'
import { countNoun } from '../../src/text/count-noun.ts'
import { readLines, type ShareContext } from './share-context.ts'

/** The options that apply to every link that one call creates. */
export type LinkOptions = Omit<NewLink, 'number'>

/** The exit status of a program that SIGINT (signal 2) ends: 128 + 2. */
const interruptedStatus = 130

/** Creates and prints a link. Returns the exit status. */
export async function createOneLink(context: ShareContext, newLink: NewLink): Promise<number> {
  const { db, linkPrefix, isJson } = context
  const link = await createQuoteLinkWithDetails(db, newLink)
  console.log(isJson ? serializeLink(newLink, linkPrefix, link) : linkPrefix + link.token)
  printWarnings(newLink, link)
  warnOfLocalAddress(context)
  return 0
}

/**
 * Creates a link for each quote number of a file and returns the exit status. Prints each link as
 * soon as it is created, because a link that is not printed is lost. SIGINT stops after the
 * current link.
 */
export async function createManyLinks(
  context: ShareContext,
  file: string,
  linkOptions: LinkOptions,
): Promise<number> {
  const { db, linkPrefix, isJson } = context
  let createdCount = 0
  let rejectedCount = 0
  let isInterrupted = false
  process.once('SIGINT', () => {
    isInterrupted = true
  })
  for await (const number of readLines(file)) {
    if (isInterrupted) break
    const newLink = { number, ...linkOptions }
    try {
      const link = await createQuoteLinkWithDetails(db, newLink)
      console.log(
        isJson ? serializeLink(newLink, linkPrefix, link) : `${number}\t${linkPrefix}${link.token}`,
      )
      printWarnings(newLink, link)
      createdCount += 1
    } catch (error) {
      if (!(error instanceof LinkRefusedError)) throw error
      console.error(`${number}: ${error.message}`)
      rejectedCount += 1
    }
  }
  const interruption = isInterrupted ? ', interrupted' : ''
  console.error(
    `${countNoun(createdCount, 'link')} created, ${rejectedCount} rejected${interruption}.`,
  )
  if (createdCount > 0) warnOfLocalAddress(context)
  if (isInterrupted) return interruptedStatus
  return rejectedCount > 0 ? 1 : 0
}

function serializeLink(
  { number }: NewLink,
  linkPrefix: string,
  { id, version, expiresAt, token, warnings }: CreatedLink,
): string {
  const url = linkPrefix + token
  return JSON.stringify({
    number,
    version,
    id,
    url,
    expiresAt: expiresAt?.toISOString() ?? null,
    warnings,
  })
}

function printWarnings({ number }: NewLink, { version, warnings }: CreatedLink): void {
  for (const warning of warnings)
    console.error(`warning: quote ${number} version ${version}: ${warning}.`)
}

/** A link for this machine would be sent to a customer otherwise. docker compose sets a default. */
function warnOfLocalAddress({ linkPrefix, isBaseUrlSet }: ShareContext): void {
  if (isBaseUrlSet && !isLoopbackName(new URL(linkPrefix).hostname)) return
  const reason = isBaseUrlSet ? 'PUBLIC_BASE_URL names this machine' : 'PUBLIC_BASE_URL is not set'
  console.error(
    `${reason}, so the links begin with ${linkPrefix} and open on this machine only. ` +
      'Set it to the address under which customers reach the service. Links that are already ' +
      'created work there too.',
  )
}
