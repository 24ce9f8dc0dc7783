// Starts the API as in production, but with the fast clock of the random histories.
import { start } from '../../src/server.ts'
import { fastClock } from './fast-clock.ts'

/** HISTORY_CLOCK: the instant in milliseconds since 1970 at which the fast clock starts. */
const clock = fastClock(Number(process.env.HISTORY_CLOCK))
await start(() => clock.at(Date.now()))
