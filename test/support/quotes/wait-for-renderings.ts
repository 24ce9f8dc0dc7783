// Lets requests for PDFs and large pages wait longer. Renderings have a low priority, so on a busy
// machine they take longer than a customer should wait.
import { renderingWait } from '../../../src/quotes/rendering/rendering-cache.ts'
import { replaceUntilEnd } from '../replace-until-end.ts'

/** Lets requests wait for renderings for up to two minutes until the test ends. */
export function waitLongForRenderings(t: { teardown(fn: () => unknown): void }): void {
  replaceUntilEnd(t, renderingWait, { ms: 120_000 })
}
