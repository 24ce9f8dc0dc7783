// Checks that PDFs can show the logo of the company.
import type { Brand } from '../../company/brand.ts'
import { RenderingProcess } from '../rendering/rendering-process.ts'
import type { QuoteDocument } from '../schema.ts'

const nothing = { amount: '0.00', currency: 'EUR' }

/** The smallest quote. The check needs only the letterhead. */
const emptyQuote: QuoteDocument = {
  number: '1',
  version: 1,
  issuedOn: '2000-01-01',
  validUntil: null,
  language: 'en',
  currency: 'EUR',
  seller: {
    legalName: 'Company',
    taxId: '1',
    address: 'Street',
    email: 'company@example.com',
    phone: '1',
    website: null,
    bank: null,
  },
  buyer: { name: null, taxId: null, address: null, contactName: null },
  lines: [],
  totals: { net: nothing, discounts: nothing, taxes: [], gross: nothing },
  trade: { incoterm: null, delivery: null },
  payment: { terms: null },
  legal: [],
  notes: null,
}

/**
 * Throws an error that says why if no PDF can show the logo. The limits are the same as for PDFs
 * that customers request.
 */
export async function checkLogoInPdf(brand: Brand): Promise<void> {
  if (brand.logo === null) return
  const rendering = new RenderingProcess()
  try {
    await rendering.perform({
      quote: {
        quoteStatus: 'sent',
        expiresAt: null,
        contentHash: '0'.repeat(64),
        documentJson: JSON.stringify(emptyQuote),
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
