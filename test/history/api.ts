// The API as it is in production, but on the clock of histories. HISTORY_CLOCK: the instant from which that runs.
import { start } from '../../src/server.ts'
import { fastClock } from './clock.ts'

const clock = fastClock(Number(process.env.HISTORY_CLOCK))
await start(() => clock.at(Date.now()))
