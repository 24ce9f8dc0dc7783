// Finds a logo that no PDF can show, before customers request the PDFs of their quotes.
import type { Brand } from '../../company/brand.ts'
import type { QuoteDocument } from '../schema.ts'
import { createPdfProcess } from './pdf-renderer.ts'

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
  const pdfProcess = createPdfProcess()
  try {
    await pdfProcess.perform(async () => ({
      documentJson: JSON.stringify(emptyQuote),
      contentHash: '0'.repeat(64),
      status: 'sent',
      language: 'en',
      brand,
    }))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(
      'The company file is not valid:\n  /logo: no PDF can show it, so customers would get none. ' +
        `Save it as a simpler SVG, or as a PNG. The reason: ${reason}`,
      { cause },
    )
  } finally {
    pdfProcess.stop()
  }
}
