// The lifetime of a quote link: its default, its bounds, and how it is written (30d, 12h, never).

/** The lifetime of a link that is created without --expires. */
export const defaultLinkLifetime = '30d'

// From 1 to 99,999 days or hours. The database rejects an expiry in the past.
const lifetimePattern = /^([1-9]\d{0,4})([dh])$/
const unitMs = { d: 86_400_000, h: 3_600_000 }

/**
 * Parses a lifetime in days ("30d") or hours ("12h"), or "never". Returns milliseconds, or null for
 * "never". Returns undefined if the text is not a lifetime.
 */
export function parseLinkLifetime(lifetime: string): number | null | undefined {
  if (lifetime === 'never') return null
  const [, amount, unit] = lifetimePattern.exec(lifetime) ?? []
  if (amount === undefined) return undefined
  return Number(amount) * unitMs[unit as 'd' | 'h']
}
