// Checks that PDFs can show the logo of the company.
import type { Brand } from '../../company/brand.ts'
import { exampleQuote } from '../openapi.ts'
import { RenderingProcess } from '../rendering/rendering-process.ts'

/**
 * Throws an error that says why if no PDF can show the logo. The limits are the same as for PDFs
 * that customers request.
 */
export async function checkLogoInPdf(brand: Brand): Promise<void> {
  if (brand.logo === null) return
  const { status, contentHash, document } = exampleQuote
  const rendering = new RenderingProcess()
  try {
    await rendering.perform({
      quote: {
        quoteStatus: status,
        expiresAt: null,
        contentHash,
        documentJson: JSON.stringify(document),
      },
      variant: { format: 'pdf', language: 'en', offersPdf: false },
      options: { brand, offersReplies: false, timeZone: 'UTC' },
    })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(
      'The company file is not valid:\n  /logo: no PDF can show it, so customers would get none. ' +
        `Save it as a simpler SVG, or as a PNG. The reason: ${reason}`,
      { cause },
    )
  } finally {
    rendering.stop()
  }
}
