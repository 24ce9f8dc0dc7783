// The QR code that fills in a SEPA transfer (EPC069-12), for accepted quotes in euros.
import { electronicFormatIBAN, isValidIBAN } from 'ibantools'
import { encode } from 'uqr'
import type { SharedQuote } from '../schema.ts'
import { truncatePlainText } from './plain-text.ts'

/** The limits of EPC069-12: lengths of the texts, and amounts in euros. */
const maxNameLength = 70
const maxReferenceLength = 140
const minAmount = 0.01
const maxAmount = 999_999_999.99
/** Countries whose accounts take part in SEPA (EPC409-09). */
const sepaCountries = new Set(
  (
    'AD AL AT BE BG CH CY CZ DE DK EE ES FI FR GB GI GR HR HU IE IS IT LI LT LU LV MC MD ' +
    'ME MK MT NL NO PL PT RO RS SE SI SK SM VA'
  ).split(' '),
)

/** A square of `size` modules. `path` draws the dark ones as an SVG path. */
export type QrCode = { size: number; path: string }

/** Returns the QR code of the transfer for an accepted quote. Null: see buildSepaTransfer. */
export function buildSepaQrCode(shared: SharedQuote): QrCode | null {
  const transfer = buildSepaTransfer(shared)
  return transfer === null ? null : drawQrCode(transfer)
}

/**
 * Returns the transfer of the gross amount with the number of the quote as reference, as EPC069-12
 * writes it. Returns null unless the quote is accepted, in euros and positive, and the account is
 * valid and in SEPA.
 */
export function buildSepaTransfer({ status, document }: SharedQuote): string | null {
  const { seller, totals, currency, number } = document
  const iban = electronicFormatIBAN(seller.bank?.iban ?? '') ?? ''
  const amount = Number(totals.gross.amount)
  if (status !== 'accepted' || currency !== 'EUR' || !seller.bank) return null
  if (!isValidIBAN(iban) || !sepaCountries.has(iban.slice(0, 2))) return null
  if (!(amount >= minAmount && amount <= maxAmount)) return null
  return [
    'BCD',
    '002',
    '1',
    'SCT',
    seller.bank.bic ?? '',
    truncatePlainText(seller.bank.holder, maxNameLength),
    iban,
    `EUR${totals.gross.amount}`,
    '',
    '',
    truncatePlainText(number, maxReferenceLength),
  ].join('\n')
}

function drawQrCode(text: string): QrCode {
  // EPC069-12 requires the error correction M, and the quiet zone is drawn around the code.
  const { data, size } = encode(text, { ecc: 'M', border: 0 })
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('')
  return { size, path }
}
