// What the benchmark page measures: each route with and without its cache, and the baselines.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { choosePort } from '../../servers/free-port.ts'
import type { BenchService } from '../support/bench-service.ts'
import { recordEngineRequests } from '../support/engine-requests.ts'
import {
  type LoadRequest,
  type LoadResult,
  startFixedRateLoad,
} from '../support/load/fixed-rate-load.ts'
import { quantile } from '../support/load/quantile.ts'
import type { ApiProcess } from '../support/processes/api-process.ts'
import { startBenchProcess } from '../support/processes/bench-process.ts'

export type Rates = { perSecond: number; seconds: number; warmUpSeconds: number }

export type Row = {
  what: string
  sent: number
  failed: number
  p50: number
  p95: number
  p99: number
  max: number
}

type Subject = {
  what: string
  url: string
  /** Returns the request of this number. The warm-up has its own numbers, before the others. */
  next(number: number): Omit<LoadRequest, 'kind'>
}

type Contents = {
  service: BenchService
  api: ApiProcess
  /** Texts of searches: as many as requests, all different. */
  texts: string[]
  /** Tokens of links: as many as requests. */
  tokens: string[]
}

const cachedTexts = 40
const cachedLinks = 50
const dayMs = 86_400_000

/** Measures every subject, one after the other, at the same fixed rate. */
export async function measureAll(contents: Contents, rates: Rates): Promise<Row[]> {
  const { service, api } = contents
  const headers = { authorization: service.authorization }
  const answer = await fetch(`${api.url}/api/stats`, { headers }).then((one) => one.text())
  const naked = await startNakedRoute(service.directory, answer)
  const rows: Row[] = []
  try {
    for (const subject of [
      {
        what: 'naked Fastify route, the bytes of a statistic',
        url: naked.url,
        next: () => ({ path: '/' }),
      },
      ...(await searchSubjects(contents)),
      ...statsSubjects(contents),
      ...linkSubjects(contents),
    ]) {
      console.log(`Measuring: ${subject.what} ...`)
      rows.push(await measure(subject, rates))
    }
  } finally {
    await naked.stop()
  }
  return rows
}

async function searchSubjects({ service, api, texts }: Contents): Promise<Subject[]> {
  const { requests } = await recordEngineRequests(service, texts)
  const headers = { authorization: service.authorization }
  const engineHeaders = { authorization: `Bearer ${service.meiliKey}` }
  const pick = (number: number) => texts[number % texts.length] ?? ''
  const search = (text: string) => ({
    path: `/api/search?q=${encodeURIComponent(text)}`,
    headers,
  })
  return [
    {
      what: 'Meilisearch directly, the requests of the next row',
      url: service.meiliUrl,
      next: (number) => ({
        path: '/multi-search',
        headers: engineHeaders,
        body: requests.get(pick(number)) ?? '',
      }),
    },
    { what: 'search, not cached', url: api.url, next: (number) => search(pick(number)) },
    { what: 'search, cached', url: api.url, next: (n) => search(pick(n % cachedTexts)) },
  ]
}

function statsSubjects({ service, api }: Contents): Subject[] {
  const headers = { authorization: service.authorization }
  const firstDay = Date.UTC(2021, 0, 1)
  return [
    {
      what: 'statistics, not cached: another period each time',
      url: api.url,
      next: (number) => {
        const from = new Date(firstDay + number * dayMs).toISOString().slice(0, 10)
        return { path: `/api/stats?from=${from}&to=2026-11-21`, headers }
      },
    },
    { what: 'statistics, cached', url: api.url, next: () => ({ path: '/api/stats', headers }) },
  ]
}

function linkSubjects({ api, tokens }: Contents): Subject[] {
  const link = (number: number, format: string) => ({
    path: `/quote/share/${tokens[number % tokens.length]}?format=${format}`,
  })
  return [
    { what: 'quote page, opened for the first time', url: api.url, next: (n) => link(n, 'html') },
    {
      what: 'quote page, rendered before',
      url: api.url,
      next: (n) => link(n % cachedLinks, 'html'),
    },
    { what: 'quote as JSON', url: api.url, next: (n) => link(n % cachedLinks, 'json') },
  ]
}

async function measure(
  { what, url, next }: Subject,
  { perSecond, seconds, warmUpSeconds }: Rates,
): Promise<Row> {
  const results: LoadResult[] = []
  const warmUpCount = perSecond * warmUpSeconds
  const count = warmUpCount + perSecond * seconds
  const { promise: allSent, resolve } = Promise.withResolvers<void>()
  const load = startFixedRateLoad({
    url,
    perSecond,
    next: (number) => {
      if (number + 1 === count) resolve()
      return { kind: number < warmUpCount ? 'warm-up' : 'measured', ...next(number) }
    },
    onResult: (result) => void results.push(result),
  })
  await allSent
  await load.stop()
  const measured = results.filter(({ kind }) => kind === 'measured')
  const failures = measured.filter(({ status }) => status !== 200)
  if (failures[0]) console.log(`  failed: ${failures[0].status} ${failures[0].problem}`)
  const times = measured.map(({ ms }) => ms)
  return {
    what,
    sent: measured.length,
    failed: failures.length,
    p50: quantile(times, 0.5),
    p95: quantile(times, 0.95),
    p99: quantile(times, 0.99),
    max: Math.max(...times),
  }
}

async function startNakedRoute(
  directory: string,
  answer: string,
): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await choosePort('the naked route')
  const file = join(directory, 'answer.json')
  await writeFile(file, answer)
  const program = join(import.meta.dirname, 'naked-route.ts')
  const route = startBenchProcess([program, String(port), file])
  const url = `http://127.0.0.1:${port}`
  for (let attempt = 0; !(await fetch(url).catch(() => null)); attempt++) {
    if (attempt > 200 || route.hasEnded()) throw new Error('The route did not start.')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return { url, stop: route.stop }
}
