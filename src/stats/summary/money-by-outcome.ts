// Which money is open, won and lost.
import { sql } from 'kysely'

/**
 * Money by outcome in the base currency, from the sums of the summary. Open are sent quotes that
 * are still valid, and won are accepted ones. Lost are rejected and expired ones, and sent ones
 * that are no longer valid.
 */
export const moneyByOutcome = (baseDigits: number) =>
  [
    sql<string>`round(base_valid, ${baseDigits})`.as('open'),
    sql<string>`round(base_net, ${baseDigits})`.as('won'),
    sql<string>`round(base_lost + base_sent - base_valid, ${baseDigits})`.as('lost'),
  ] as const
