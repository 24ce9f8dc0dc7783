// The lifetime of a quote link: its default, its bounds and its text form.

/** The lifetime of a link that is created without --expires. */
export const defaultLinkLifetime = '30d'

// From 1 to 99,999 days or hours. The database rejects an expiry in the past.
const lifetimePattern = /^([1-9]\d{0,4})([dh])$/
const unitMs = { d: 86_400_000, h: 3_600_000 }

/**
 * Returns the lifetime of a link in milliseconds, or null for "never". Other lifetimes are days
 * ("30d") and hours ("12h"). Returns undefined if the text is not a lifetime.
 */
export function parseLinkLifetime(lifetime: string): number | null | undefined {
  if (lifetime === 'never') return null
  const [, amount, unit] = lifetimePattern.exec(lifetime) ?? []
  if (amount === undefined) return undefined
  return Number(amount) * unitMs[unit as 'd' | 'h']
}
