// Starts the API as in production, but with the fast clock of the random histories.
import { renderingWait } from '../../src/quotes/rendering/quote-renderer.ts'
import { start } from '../../src/server.ts'
import { fastClock } from './fast-clock.ts'

// On a busy machine, a PDF takes longer than a customer should wait.
renderingWait.ms = 120_000

/** HISTORY_CLOCK: the instant in milliseconds since 1970 at which the fast clock starts. */
const clock = fastClock(Number(process.env.HISTORY_CLOCK))
await start(() => clock.at(Date.now()))
