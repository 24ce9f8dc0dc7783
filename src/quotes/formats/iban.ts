// Formats IBANs and checks their check digits.
import { electronicFormatIBAN, friendlyFormatIBAN, isValidIBAN } from 'ibantools'

/**
 * Formats an IBAN in groups of four if its length and check digits (mod 97) are right.
 * Returns any other text unchanged, with `valid: false`.
 */
export function formatIban(iban: string): { text: string; valid: boolean } {
  const electronic = electronicFormatIBAN(iban) ?? ''
  const valid = isValidIBAN(electronic)
  return { text: valid ? (friendlyFormatIBAN(electronic) ?? iban) : iban, valid }
}
