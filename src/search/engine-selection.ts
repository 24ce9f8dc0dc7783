// Which of several engines is asked: the healthy ones in turn, each with its own breaker, freshness and memory. One is the usual case.
import type { Kysely } from 'kysely'
import type { Tables } from '../database/table-types.ts'
import { type Breaker, breaker } from '../search-engine/circuit-breaker.ts'
import type { SearchEngine } from '../search-engine/engine-client.ts'
import { type Freshness, followFreshness } from '../search-engine/index-freshness.ts'
import { type Memory, memory } from './answer-cache.ts'

/** An engine under the name by which an indexer keeps it in step. */
export type NamedEngine = { name: string; engine: SearchEngine }

export type Candidate = NamedEngine & { breaker: Breaker; freshness: Freshness; remembered: Memory }

type Options = {
  db: Kysely<Tables>
  engines: [NamedEngine, ...NamedEngine[]]
  /** For all together. */
  memoryBytes: number
  probe(engine: SearchEngine): Promise<unknown>
  onChange(name: string, open: boolean, reason?: unknown): void
}

/** An engine whose index is so much older than that of another is left alone until it has caught up. */
const behindMs = 10_000

export type EngineChoice = {
  /** The engine for one request: where none is healthy one whose breaker is open, so that nothing waits. */
  next(): Candidate
  /** Whether this is true of any of them; whose turn it is does not change. */
  some(isTrue: (candidate: Candidate) => boolean): boolean
  stop(): void
}

/** Keeps an eye on all of them until it is stopped. */
export function chooseEngines({
  db,
  engines,
  memoryBytes,
  probe,
  onChange,
}: Options): EngineChoice {
  const make = ({ name, engine }: NamedEngine): Candidate => ({
    name,
    engine,
    breaker: breaker(
      () => probe(engine),
      (open, reason) => onChange(name, open, reason),
    ),
    freshness: followFreshness(db, name),
    remembered: memory(memoryBytes / engines.length),
  })
  const [first, ...others] = engines
  const candidates: [Candidate, ...Candidate[]] = [make(first), ...others.map(make)]
  let turn = 0

  function next(): Candidate {
    if (candidates.length === 1) return candidates[0]
    const working = candidates.filter((candidate) => !candidate.breaker.isOpen())
    const newest = Math.max(...working.map(indexedMs))
    const current = working.filter((candidate) => newest - indexedMs(candidate) <= behindMs)
    turn += 1
    return current[turn % current.length] ?? working[turn % working.length] ?? candidates[0]
  }

  return {
    next,
    some: (isTrue) => candidates.some(isTrue),
    stop() {
      for (const candidate of candidates) {
        candidate.freshness.stop()
        candidate.breaker.stop()
      }
    },
  }
}

/** Up to when an index holds everything; one that is not known to be there is the oldest. */
function indexedMs({ freshness }: Candidate): number {
  const instant = freshness.indexedAt()
  return instant === null ? 0 : Date.parse(instant)
}
