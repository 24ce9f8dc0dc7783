// Formats IBANs and checks their check digits.
import { electronicFormatIBAN, friendlyFormatIBAN, isValidIBAN } from 'ibantools'

/**
 * Returns an IBAN in groups of four if its length and check digits (mod 97) are right.
 * Returns any other text unchanged, with `isValid: false`.
 */
export function formatIban(iban: string): { text: string; isValid: boolean } {
  const electronic = electronicFormatIBAN(iban) ?? ''
  if (!isValidIBAN(electronic)) return { text: iban, isValid: false }
  return { text: friendlyFormatIBAN(electronic) ?? iban, isValid: true }
}
