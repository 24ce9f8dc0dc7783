// When a piece was in trouble, so that an answer may be excused; and how long that takes to be over.
import { setTimeout as sleep } from 'node:timers/promises'
import { searchKey } from '../../src/indexing/engine-keys.ts'
import { openEngine } from '../../src/indexing/meilisearch-client.ts'
import { indexName, type PieceName, type World } from './world.ts'

/** Within so many milliseconds after a fault is over its piece must serve again (the engine: 5 s, by contract). */
const recoveryMs = 5_000

export type Troubles = {
  /** A trouble begins; call what this returns when its cause is gone. */
  begin(piece: PieceName): () => void
  /** Whether one was there at some moment between two instants (milliseconds since 1970), counting the time to recover. */
  during(piece: PieceName, from: number, to: number): boolean
}

export function makeTroubles(): Troubles & {
  note(piece: PieceName, from: number, to: number): void
} {
  const all: { piece: PieceName; from: number; to: number }[] = []
  return {
    begin(piece) {
      const trouble = { piece, from: Date.now(), to: Number.POSITIVE_INFINITY }
      all.push(trouble)
      return () => {
        trouble.to = Date.now() + recoveryMs
      }
    },
    note: (piece, from, to) => void all.push({ piece, from, to }),
    during: (piece, from, to) =>
      all.some((trouble) => trouble.piece === piece && trouble.from <= to && trouble.to >= from),
  }
}

const slowMs = 150

/** Searches the engine itself all along: while that is slow or fails, for whatever reason, or this machine stands still, the engine is in trouble. */
export async function watchEngine(
  world: World,
  troubles: ReturnType<typeof makeTroubles>,
  isOver: () => boolean,
): Promise<void> {
  const index = openEngine(world.engineUrl, searchKey(world.masterKey)).index(indexName)
  for (let last = Date.now(); !isOver(); ) {
    const from = last
    const worked = await index.search('', { limit: 1 }, { signal: AbortSignal.timeout(300) }).then(
      () => true,
      () => false,
    )
    if (!worked || Date.now() - from > slowMs)
      troubles.note('engine', from - slowMs, Date.now() + recoveryMs / 2)
    last = Date.now()
    await sleep(50)
  }
}
