// Builds the quotes of the tests of the statistics.

export type Quote = {
  number: string
  status: 'draft' | 'sent' | 'accepted' | 'rejected' | 'expired' | 'withdrawn' | 'superseded'
  country: string | null
  currency: string
  rate: string | null
  issued_on: string
  valid_until: string | null
  decided_on: string | null
  net: string
  customer_id?: string | null
  lines?: Line[]
}
export type Line = { sku: string | null; net: string }

/** The name that a customer with this id has. */
export const customerName = (id: string) => `Customer ${id}`

/** An accepted quote of 100 EUR, with `changes`. */
export const buildQuote = (number: string, changes: Partial<Quote>): Quote => ({
  number,
  status: 'accepted',
  country: 'ES',
  currency: 'EUR',
  rate: '1',
  issued_on: '2026-03-10',
  valid_until: null,
  decided_on: '2026-04-02',
  net: '100.00',
  ...changes,
})
