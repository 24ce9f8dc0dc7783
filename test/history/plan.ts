// The plan of a history, drawn from its seed: what each writer does, and what goes wrong when.
import { type Random, random } from './random.ts'
import type { Change, Subject } from './subject.ts'
import type { PieceName } from './world.ts'

export type Transaction = {
  serial: number
  waitMs: number
  changes: Change[]
  holdMs: number
  end: 'commit' | 'rollback'
}

/** `kill` and `wipe` (its data is gone, too) are with -9, and what was killed starts again after `forMs`; `pause` is SIGSTOP, then SIGCONT. */
export type Fault = {
  afterMs: number
  piece: PieceName
  kind: 'kill' | 'restart' | 'pause' | 'wipe'
  forMs: number
}

export type Plan = { writers: Transaction[][]; faults: Fault[] }

const writerCount = 4

/** `steps` counts transactions and faults together. */
export function makePlan(subjects: [Subject, ...Subject[]], seed: number, steps: number): Plan {
  const draw = random(seed)
  const faultCount = Math.max(1, Math.round(steps / 20))
  const writers: Transaction[][] = Array.from({ length: writerCount }, () => [])
  for (let serial = 1; serial <= steps - faultCount; serial++)
    writers[serial % writerCount]?.push(makeTransaction(subjects, draw, serial))
  const lastsMs = Math.max(
    ...writers.map((own) => own.reduce((sum, { waitMs, holdMs }) => sum + waitMs + holdMs, 0)),
  )
  const faults = Array.from({ length: faultCount }, () => makeFault(draw, lastsMs))
  return { writers, faults: faults.sort((a, b) => a.afterMs - b.afterMs) }
}

function makeTransaction(
  subjects: [Subject, ...Subject[]],
  draw: Random,
  serial: number,
): Transaction {
  const isLate = draw.chance(0.04)
  return {
    serial,
    waitMs: draw.chance(0.3) ? 0 : draw.between(5, 250),
    // Now and then one transaction is about several things.
    changes: Array.from({ length: draw.chance(0.1) ? 2 : 1 }, () =>
      draw.pick(subjects).draw(draw, serial),
    ).flat(),
    holdMs: isLate ? draw.between(1_000, 4_000) : draw.chance(0.3) ? draw.between(1, 80) : 0,
    end: draw.chance(0.1) ? 'rollback' : 'commit',
  }
}

function makeFault(draw: Random, lastsMs: number): Fault {
  const piece = draw.pick<PieceName>([
    'indexer-1',
    'indexer-2',
    'indexer-1',
    'indexer-2',
    'engine',
    'engine',
    'postgres',
    'postgres',
    'redis',
    'redis',
    'api-1',
    'api-2',
  ])
  const kind = draw.pick<Fault['kind']>(
    piece === 'engine'
      ? ['kill', 'restart', 'pause', 'pause', 'wipe']
      : ['kill', 'restart', 'pause'],
  )
  // A paused indexer is of interest when another has taken over meanwhile.
  const longest = kind === 'pause' && piece.startsWith('indexer') ? 9_000 : 2_500
  return {
    afterMs: draw.between(200, Math.max(500, lastsMs - 500)),
    piece,
    kind,
    forMs: draw.between(100, longest),
  }
}
