// The statuses of a quote, and what depends on the status alone. Besides this table, only the schema
// (schema/50-quotes.sql, and what 60-statistics.sql counts) and the texts list them.

/** The members of `money` in the statistics, in order, and the quotes whose net each is. */
export const outcomeDescriptions = {
  open: 'sent quotes that are still valid today',
  won: 'accepted quotes, the same as revenue',
  lost: 'rejected and expired quotes',
  withdrawn: 'quotes that the seller took back',
}
export type Outcome = keyof typeof outcomeDescriptions
export const outcomes = Object.keys(outcomeDescriptions) as Outcome[]

type Facts = {
  /** Where the net belongs in the statistics. Others are in no amount. */
  outcome?: Outcome
  /** The quote may have a day of decision. */
  isDecided?: true
  /** Page and PDF show the bank account, so that nobody pays another quote. */
  isPayable?: true
  /** Page and PDF leave out the last valid day, which would mislead. */
  hidesValidity?: true
  /** How people and programs write it, in lower case and without accents. */
  words?: string
}

const facts = {
  draft: { words: 'borrador quotation presupuesto' },
  sent: {
    outcome: 'open',
    isPayable: true,
    words: 'enviado enviada emitido emitida pendiente presentado presentada',
  },
  accepted: {
    outcome: 'won',
    isDecided: true,
    isPayable: true,
    words: 'aceptado aceptada aprobado aprobada ganado ganada won sale done',
  },
  rejected: {
    outcome: 'lost',
    isDecided: true,
    words: 'rechazado rechazada perdido perdida lost declined',
  },
  expired: { outcome: 'lost', words: 'vencido vencida caducado caducada' },
  // The seller took it back.
  withdrawn: {
    outcome: 'withdrawn',
    hidesValidity: true,
    words: 'retirado retirada anulado anulada',
  },
  // A newer version replaces it, also after a decision.
  superseded: { isDecided: true, hidesValidity: true },
} satisfies Record<string, Facts>

export type QuoteStatus = keyof typeof facts
/** Drafts are invisible outside. */
export type VisibleStatus = Exclude<QuoteStatus, 'draft'>
/** Only the newest version of a quote counts in the statistics. */
export type CountedStatus = Exclude<QuoteStatus, 'superseded'>

export const quoteStatuses: Record<QuoteStatus, Facts> = facts
export const statusNames = Object.keys(facts) as QuoteStatus[]
export const decidedStatuses = statusNames.filter((status) => quoteStatuses[status].isDecided)
export const visibleStatuses = statusNames.filter((status) => status !== 'draft')
export const countedStatuses = statusNames.filter((status) => status !== 'superseded')
