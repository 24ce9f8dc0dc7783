// Plays the random checks of quote versions many times. RANDOM_RUNS sets how many (500).
import t from 'tap'

process.env.RANDOM_RUNS ||= '500'
t.setTimeout(3_600_000)
await import('../database/quote-versions.test.ts')
