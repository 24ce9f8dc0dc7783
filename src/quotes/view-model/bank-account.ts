// The seller's bank account on a quote: which quotes show it, and how it is formatted.
import { formatIban } from '../formats/iban-format.ts'
import type { LinkedQuote } from '../schema.ts'

/** An account to transfer money to. */
export type BankAccount = {
  holder: string
  iban: { text: string; isValid: boolean }
  bic: string | null
}

/** Only these show the account, so nobody pays a rejected, expired or superseded quote. */
const payableStatuses: LinkedQuote['status'][] = ['sent', 'accepted']

/** Returns null if the seller states no account, or if the quote is neither sent nor accepted. */
export function buildBankAccount({ status, document }: LinkedQuote): BankAccount | null {
  const { bank } = document.seller
  if (bank === null || !payableStatuses.includes(status)) return null
  return { holder: bank.holder, iban: formatIban(bank.iban), bic: bank.bic }
}
