// The requests of the dashboard, each with the visitor's key if there is one, and why they fail.
import { fetchWithTimeout } from '../browser/fetch-with-timeout.ts'

// Types only: nothing of the service becomes part of the script.
export type Stats = import('../../stats/schema.ts').Stats
export type SearchReport = import('../../search-report/report.ts').SearchReport

/** Customers and products are requested again after this time, if the statistics have changed. */
export const breakdownIntervalMs = 15_000
/** What people search for is requested at this interval, with the statistics. */
export const searchReportIntervalMs = 60_000
/** A downloaded file is released from memory after this time. The browser has read it by then. */
const downloadUrlLifetimeMs = 10_000

/* --- The key: in the sessionStorage of this tab, and sent to this service only --- */

const storageName = 'trade-quoting-service stats key'
/** The key if the browser denies storage. It is kept until the page is left. */
let unstoredKey: string | null = null

export function readSessionKey(): string | null {
  try {
    return unstoredKey ?? sessionStorage.getItem(storageName)
  } catch {
    // The browser denies storage.
    return null
  }
}

/** null removes the key. */
export function writeSessionKey(key: string | null): void {
  unstoredKey = null
  try {
    if (key === null) sessionStorage.removeItem(storageName)
    else sessionStorage.setItem(storageName, key)
  } catch {
    unstoredKey = key
  }
}

/** Sends a GET request that is not cached. */
export function get(url: string, headers: Record<string, string> = {}, signal?: AbortSignal) {
  const key = readSessionKey()
  return fetchWithTimeout(url, {
    headers: {
      accept: 'application/json',
      ...headers,
      ...(key !== null && { authorization: `Bearer ${key}` }),
    },
    cache: 'no-store',
    credentials: 'same-origin',
    ...(signal && { signal }),
  })
}

/* --- Failures --- */

export type ErrorKind =
  | 'keyMissing'
  | 'keyInvalid'
  | 'scopeMissing'
  | 'invalidFilter'
  | 'limited'
  | 'unavailable'
  | 'offline'
  | 'failed'

export type Failure = {
  kind: ErrorKind
  retryAfterMs: number | null
  /** In English. */
  detail: string
  /** The names of invalid parameters. */
  parameters: string[]
}

const kindsByStatus: Record<number, ErrorKind> = {
  400: 'invalidFilter',
  403: 'scopeMissing',
  429: 'limited',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
}

/** Describes why a request has failed. Without a response, the network has failed. */
export async function describeFailure(response?: Response): Promise<Failure> {
  if (!response) {
    const kind = navigator.onLine ? 'unavailable' : 'offline'
    return { kind, retryAfterMs: null, detail: '', parameters: [] }
  }
  const missesKey = response.status === 401
  const keyKind = readSessionKey() === null ? 'keyMissing' : 'keyInvalid'
  // The error page of a proxy is no JSON. Its status is sufficient.
  const problem: { detail?: string; errors?: { parameter: string }[] } = await response
    .json()
    .catch(() => ({}))
  const retryAfterSeconds = Number(response.headers.get('retry-after'))
  return {
    kind: missesKey ? keyKind : (kindsByStatus[response.status] ?? 'failed'),
    retryAfterMs: retryAfterSeconds > 0 ? retryAfterSeconds * 1_000 : null,
    detail: problem.detail ?? '',
    parameters: (problem.errors ?? []).map(({ parameter }) => parameter),
  }
}

/* --- Requests --- */

/** Downloads a file with the key, which a link cannot send. Returns why it failed, or null. */
export async function download(href: string, fileName: string): Promise<Failure | null> {
  let file: Blob
  try {
    const response = await get(href)
    if (!response.ok) return await describeFailure(response)
    file = await response.blob()
  } catch {
    // The browser logs network errors.
    return describeFailure()
  }
  const url = URL.createObjectURL(file)
  Object.assign(document.createElement('a'), { href: url, download: fileName }).click()
  setTimeout(() => URL.revokeObjectURL(url), downloadUrlLifetimeMs)
  return null
}

/** The status is 0 without a readable response. */
type Result<Data> = { data?: Data; status: number }

export async function getJson<Data>(url: string): Promise<Result<Data>> {
  try {
    const response = await get(url)
    const { ok, status } = response
    return ok ? { data: await response.json(), status } : { status }
  } catch {
    // The browser logs network errors, and the visitor sees that there is no data.
    return { status: 0 }
  }
}

export type Breakdown = {
  customers: NonNullable<Stats['byCustomer']>
  products: NonNullable<Stats['byProduct']>
}

/** Returns the customers and the products with the highest revenue. */
export async function getBreakdown(query: string): Promise<Result<Breakdown>> {
  const load = (by: string) => {
    const parameters = new URLSearchParams(query)
    // The comparison does not change customers and products.
    parameters.delete('compare')
    parameters.set('by', by)
    return getJson<Stats>(`api/stats?${parameters}`)
  }
  const [first, second] = await Promise.all([load('customer'), load('product')])
  const customers = first.data?.byCustomer
  const products = second.data?.byProduct
  const status = Math.max(first.status, second.status)
  return customers && products ? { data: { customers, products }, status } : { status }
}

/** A section that needs a key with stats:detail and is loaded when the visitor opens it. */
export type Section<Data> = {
  isOpen: boolean
  isBusy: boolean
  data: Data | null
  /** Why there is no data. */
  problem: 'needsKey' | 'limited' | 'unavailable' | null
}

export const closedSection: Section<never> = {
  isOpen: false,
  isBusy: false,
  data: null,
  problem: null,
}

type SectionOptions<Data> = {
  intervalMs: number
  load: (query: string) => Promise<Result<Data>>
  onChange: (change: Partial<Section<Data>>) => void
}

/** Loads the data of a section, at most once in each interval unless the query is another one. */
export class SectionLoader<Data> {
  #options
  /** `version` is null after a failure, so that the request is repeated. */
  #last: { query: string; version: unknown; at: number } | null = null

  constructor(options: SectionOptions<Data>) {
    this.#options = options
  }

  /**
   * Nothing is requested without a key, because no one else may see names of customers.
   * `version` changes when other data is to be expected.
   */
  async refresh(query: string, version: unknown): Promise<void> {
    const { intervalMs, load, onChange } = this.#options
    if (readSessionKey() === null) return onChange({ data: null, problem: 'needsKey' })
    const last = this.#last
    const isSame = last?.query === query
    if (isSame && (last.version === version || performance.now() - last.at < intervalMs)) return
    const current = { query, version, at: performance.now() }
    this.#last = current
    if (!isSame) onChange({ isBusy: true })
    const { data, status } = await load(query)
    // The query or the key has changed meanwhile.
    if (this.#last !== current) return
    if (data) return onChange({ isBusy: false, data, problem: null })
    const needsKey = status === 401 || status === 403
    if (!needsKey) this.#last = { ...current, version: null }
    const failure = status === 429 ? 'limited' : 'unavailable'
    onChange({ isBusy: false, data: null, problem: needsKey ? 'needsKey' : failure })
  }

  /** Removes what is shown, and drops the response that may still arrive. */
  clear(): void {
    this.#last = null
    this.#options.onChange({ isBusy: false, data: null, problem: null })
  }
}
