// The QR code that fills in a SEPA transfer (EPC069-12), for accepted quotes in euros.
import { electronicFormatIBAN, isValidBIC, isValidIBAN } from 'ibantools'
import { encode } from 'uqr'
import { toPlainText } from '../formats.ts'
import type { LinkedQuote } from '../schema.ts'

/** The limits of EPC069-12: lengths of the texts in characters, total in bytes, amount in euros. */
const maxNameLength = 70
const maxReferenceLength = 140
const maxTransferBytes = 331
const minAmount = 0.01
const maxAmount = 999_999_999.99
/** Countries whose accounts take part in SEPA (EPC409-09), inside and outside the EEA. */
const eeaCountries = new Set(
  'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK'.split(
    ' ',
  ),
)
const otherSepaCountries = new Set('AD AL CH GB GI MC MD ME MK RS SM VA'.split(' '))

/** A square of `size` × `size` modules. `path` is an SVG path that draws the dark modules. */
export type QrCode = { size: number; path: string }

/** Returns the QR code of the transfer, or null if buildSepaTransfer returns null. */
export function buildSepaQrCode(linkedQuote: LinkedQuote): QrCode | null {
  const transfer = buildSepaTransfer(linkedQuote)
  return transfer === null ? null : drawQrCode(transfer)
}

/**
 * Returns the EPC069-12 text of a transfer of the amount due, with the number of the quote as
 * reference. Only an accepted quote with a positive amount in euros and a valid SEPA account has
 * one. Returns null for other quotes, and if the transfer would exceed a limit: a shortened
 * reference could name another quote.
 */
export function buildSepaTransfer({ status, document }: LinkedQuote): string | null {
  const { seller, totals, currency, number } = document
  const account = seller.bank && readSepaAccount(seller.bank)
  const due = (totals.withheld?.amountDue ?? totals.gross).amount
  const amount = Number(due)
  const reference = toOneLine(number)
  if (status !== 'accepted' || currency !== 'EUR' || !account) return null
  if (!(amount >= minAmount && amount <= maxAmount)) return null
  if ([...reference].length > maxReferenceLength) return null
  const { bic, name, iban } = account
  const transfer = [
    'BCD', // service tag
    '002', // version
    '1', // character set: UTF-8
    'SCT', // identification: SEPA credit transfer
    bic,
    name,
    iban,
    `EUR${due}`,
    '', // purpose
    '', // structured reference
    reference,
  ].join('\n')
  return Buffer.byteLength(transfer) > maxTransferBytes ? null : transfer
}

/**
 * Returns the account as a transfer names it, or null if no transfer to it is possible. A long name
 * is cut, because banks compare only its beginning. Outside the EEA a transfer needs the BIC.
 */
function readSepaAccount(bank: NonNullable<LinkedQuote['document']['seller']['bank']>) {
  const iban = electronicFormatIBAN(bank.iban) ?? ''
  const bic = (bank.bic ?? '').replace(/\s/g, '').toUpperCase()
  const country = iban.slice(0, 2)
  const name = [...toOneLine(bank.holder)].slice(0, maxNameLength).join('').trim()
  if (!isValidIBAN(iban) || name === '') return null
  const hasBic = isValidBIC(bic)
  const isInSepa = eeaCountries.has(country) || (otherSepaCountries.has(country) && hasBic)
  return isInSepa ? { iban, name, bic: hasBic ? bic : '' } : null
}

/** Returns the text on one line, because a line break would begin the next field. */
function toOneLine(text: string): string {
  return toPlainText(text).replace(/\s+/g, ' ').trim()
}

function drawQrCode(text: string): QrCode {
  // EPC069-12 requires error correction level M. The page and the PDF draw the quiet zone.
  const { data, size } = encode(text, { ecc: 'M', border: 0 })
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('')
  return { size, path }
}
