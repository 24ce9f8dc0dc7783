// Measures what counting searches costs a cached search: the processor time of one call, and of the
// whole endpoint with and without the report.

import { TypedQueries } from '../../src/search-report/typed-queries.ts'
import { runCommand } from '../cli/command.ts'
import { benchServers, benchService } from './support/bench-service.ts'
import { spanishCatalogue } from './support/data/catalogues.ts'
import { hasWrk, measureMaximumLoad } from './support/load/maximum-load.ts'
import { median } from './support/load/quantile.ts'
import { startApi } from './support/processes/api-process.ts'

const help = `
Usage: node scripts/bench/search-report.ts [--rounds N] [--seconds N]

Measures the call that remembers a search, for callers who type and for a flood of callers. Then
starts the API with SEARCH_REPORT=true and with false, sends cached searches to both in turns at
maximum load, and prints the processor time per request and the median difference of the rounds.

  --rounds N   rounds (31)
  --seconds N  seconds of load for each process in each round (1)
`

const options = {
  rounds: { type: 'string', default: '31' },
  seconds: { type: 'string', default: '1' },
} as const

const calls = 1_000_000
const keystrokes = Array.from('taladro percutor', (_, end) => 'taladro percutor'.slice(0, end + 1))

await runCommand(help, options, async (values) => {
  const perCall = {
    '100 callers who type': measureCalls(100),
    'a flood of 100,000 callers': measureCalls(100_000),
  }
  for (const [name, microseconds] of Object.entries(perCall))
    console.log(`${microseconds.toFixed(3)} µs per call: ${name}`)

  const servers = await benchServers()
  process.once('SIGINT', () => void servers.stop().then(() => process.exit(130)))
  try {
    const service = await benchService(servers, 'search_report', spanishCatalogue())
    const apis = await Promise.all(
      ['true', 'false'].map((report) =>
        startApi(service, { SEARCH_REPORT: report, SEARCH_CACHE_MB: '32' }),
      ),
    )
    const tool = (await hasWrk()) ? 'wrk' : 'autocannon'
    const load = (api: (typeof apis)[number], seconds: number) =>
      measureMaximumLoad(
        {
          url: `${api.url}/api/search?q=taladro`,
          headers: { authorization: service.authorization },
          seconds,
          connections: 16,
          pid: api.pid,
        },
        tool,
      )
    const times: number[][] = [[], []]
    // The first load of each warms it up.
    for (const api of apis) await load(api, Number(values.seconds))
    for (let round = 0; round < Number(values.rounds); round++)
      // In alternating order, because the second one of a round may be slower or faster.
      for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const api = apis[index]
        if (api) times[index]?.push((await load(api, Number(values.seconds))).cpuMicroseconds)
      }
    const [counted = [], uncounted = []] = times
    const ratios = counted.map((time, round) => time / (uncounted[round] ?? Number.NaN))
    console.log(`${median(counted).toFixed(1)} µs per cached search with the report`)
    console.log(`${median(uncounted).toFixed(1)} µs without`)
    console.log(
      `ratios by round: ${ratios.map((ratio) => ratio.toFixed(3)).join(' ')}, ` +
        `median ${median(ratios).toFixed(3)}`,
    )
    const share = (perCall['100 callers who type'] / median(uncounted)) * 100
    console.log(`the call is ${share.toFixed(2)} % of a cached search`)
    for (const api of apis) await api.stop()
    await service.close()
  } finally {
    await servers.stop()
  }
  return 0
})

/** Returns the microseconds of processor time per call. */
function measureCalls(callerCount: number): number {
  const callers = Array.from({ length: callerCount }, (_, n) => `10.${n >> 16}.${n >> 8}.${n}`)
  const typed = new TypedQueries()
  const run = () => {
    for (let call = 0; call < calls; call++) {
      const text = keystrokes[Math.floor(call / callerCount) % keystrokes.length] ?? ''
      typed.record(callers[call % callerCount] ?? '', text, true)
      // At 20,000 searches a second.
      if (call % 20_000 === 0) typed.takeSettled()
    }
  }
  run()
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / calls
}
