// How long a quote link works: the default lifetime, its bounds and how it is written.

/** The lifetime of a link if the command line names none. */
export const defaultLinkLifetime = '30d'

// One to 99,999 days or hours. The database rejects an expiry in the past.
const lifetimePattern = /^([1-9]\d{0,4})([dh])$/
const unitMs = { d: 86_400_000, h: 3_600_000 }

/**
 * Returns when a link expires that is created at `now` with a lifetime such as "30d" (days),
 * "12h" (hours) or "never" (null). Returns undefined if the text is not a lifetime.
 */
export function parseLinkExpiry(lifetime: string, now: Date): Date | null | undefined {
  if (lifetime === 'never') return null
  const [, amount, unit] = lifetimePattern.exec(lifetime) ?? []
  if (amount === undefined) return undefined
  return new Date(now.getTime() + Number(amount) * unitMs[unit as 'd' | 'h'])
}

/** A link without an expiry never expires. It ends at its expiry, not after it. */
export function isLinkExpired(expiresAt: Date | null, now: Date): boolean {
  return expiresAt !== null && expiresAt <= now
}
