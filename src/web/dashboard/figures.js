// The figures as they are now: asked of /api/stats, asked again every few seconds while somebody looks, and sent whole only when they have changed.

/** @typedef {import('../../stats/schema.ts').Stats} Stats */
/** @typedef {{ stats: Stats, isNew: boolean, isStale: boolean, computedAt: number }} Answer computedAt by performance.now() */
/** @typedef {'key' | 'badKey' | 'scope' | 'invalid' | 'limited' | 'unavailable' | 'offline' | 'failed'} TroubleKind */
/** @typedef {{ kind: TroubleKind, retryAt: number | null, detail: string, parameters: string[] }} Trouble retryAt by performance.now() */

const everyMs = 5_000
const longestWaitMs = 60_000

/**
 * Follows one question at a time. `ask` begins with a new one: what was on its way for another is forgotten. Nothing is asked while the page is
 * hidden, and no oftener than the service allows.
 * @param {{
 *   address: string,
 *   key: () => string | null,
 *   answered: (answer: Answer) => void,
 *   failed: (trouble: Trouble) => void,
 * }} options
 */
export function followFigures({ address, key, answered, failed }) {
  let question = ''
  /** @type {{ stats: Stats, etag: string | null } | null} */
  let kept = null
  /** @type {AbortController | null} */
  let running = null
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  let failures = 0
  /** @type {Trouble | null} */
  let limited = null
  // Without a key that is good there is nothing to repeat.
  let isWaitingForSomebody = false

  async function ask() {
    clearTimeout(timer)
    running?.abort()
    const mine = new AbortController()
    running = mine
    try {
      const given = key()
      const response = await fetch(question === '' ? address : `${address}?${question}`, {
        headers: {
          accept: 'application/json',
          ...(given && { authorization: `Bearer ${given}` }),
          ...(kept?.etag && { 'if-none-match': kept.etag }),
        },
        cache: 'no-store',
        credentials: 'same-origin',
        signal: mine.signal,
      })
      if (response.status === 304 && kept) return answer(response, kept.stats, false)
      if (!response.ok) return fail(...(await troubleOf(response, given !== null)))
      const stats = await response.json()
      mine.signal.throwIfAborted()
      kept = { stats, etag: response.headers.get('etag') }
      answer(response, stats, true)
    } catch {
      if (!mine.signal.aborted) fail(navigator.onLine ? 'unavailable' : 'offline', null)
    }
  }

  /**
   * @param {Response} response
   * @param {Stats} stats
   * @param {boolean} isNew
   */
  function answer(response, stats, isNew) {
    running = null
    failures = 0
    limited = null
    isWaitingForSomebody = false
    const ageMs = Number(response.headers.get('age') ?? 0) * 1_000
    const isStale = /fwd=stale/.test(response.headers.get('cache-status') ?? '')
    again(everyMs)
    answered({ stats, isNew, isStale, computedAt: performance.now() - ageMs })
  }

  /**
   * @param {TroubleKind} kind
   * @param {number | null} retryAfterMs
   * @param {string} detail
   * @param {string[]} parameters
   */
  function fail(kind, retryAfterMs, detail = '', parameters = []) {
    running = null
    failures += 1
    isWaitingForSomebody =
      kind === 'key' || kind === 'badKey' || kind === 'scope' || kind === 'invalid'
    const waitMs = retryAfterMs ?? Math.min(everyMs * 2 ** (failures - 1), longestWaitMs)
    const retryAt = isWaitingForSomebody ? null : performance.now() + waitMs
    const trouble = { kind, retryAt, detail, parameters }
    limited = kind === 'limited' ? trouble : null
    failed(trouble)
    if (retryAt !== null) again(waitMs)
  }

  /** @param {number} waitMs */
  function again(waitMs) {
    clearTimeout(timer)
    timer = setTimeout(() => {
      if (!document.hidden) ask()
    }, waitMs)
  }

  /** When somebody looks again, or the network is back. */
  function wake() {
    if (document.hidden || isWaitingForSomebody || running) return
    again(pause())
  }
  document.addEventListener('visibilitychange', wake)
  addEventListener('online', wake)

  /** How long the service has told to wait, in ms. */
  const pause = () => Math.max(0, (limited?.retryAt ?? 0) - performance.now())

  return {
    /** @param {string} asked */
    ask(asked) {
      if (asked !== question) kept = null
      question = asked
      isWaitingForSomebody = false
      // Whoever is told to wait waits, whatever he chooses meanwhile.
      if (limited && pause() > 0) {
        running?.abort()
        running = null
        failed(limited)
        again(pause())
      } else ask()
    },
    /** After a new key, or by hand. */
    retry() {
      ask()
    },
  }
}

/**
 * @param {Response} response
 * @param {boolean} hadKey
 * @returns {Promise<[TroubleKind, number | null, string, string[]]>}
 */
async function troubleOf(response, hadKey) {
  const problem = /** @type {{ detail?: string, errors?: { parameter: string }[] }} */ (
    await response.json().catch(() => ({}))
  )
  const parameters = (problem.errors ?? []).map(({ parameter }) => parameter)
  const seconds = Number(response.headers.get('retry-after'))
  const retryAfterMs = seconds > 0 ? seconds * 1_000 : null
  return [kindOf(response.status, hadKey), retryAfterMs, problem.detail ?? '', parameters]
}

/**
 * @param {number} status
 * @param {boolean} hadKey
 * @returns {TroubleKind}
 */
function kindOf(status, hadKey) {
  if (status === 401) return hadKey ? 'badKey' : 'key'
  if (status === 403) return 'scope'
  if (status === 400) return 'invalid'
  if (status === 429) return 'limited'
  return status === 503 || status === 502 || status === 504 ? 'unavailable' : 'failed'
}
