// Keeps recent states of the primary, to find the latest one that a replica has caught up with.

/**
 * The state of the primary at `readAt` (performance.now) or later. Every commit before that moment
 * is in `version`, and in the WAL before `position`, a number of bytes.
 */
export type PrimaryState = {
  databaseId: string
  timeline: number
  position: number
  version: { generation: string; changeCount: number }
  readAt: number
}

/** A place in the history of a database. A position has a meaning only in its timeline. */
export type PlaceInHistory = Pick<PrimaryState, 'databaseId' | 'timeline' | 'position'>

/** States are read a few times a second. A replica that is further behind is not used. */
const maxStates = 100

export class PrimaryHistory {
  /** The oldest state first. All are of one database and timeline. */
  #states: PrimaryState[] = []
  #cachedPosition = 0

  add(state: PrimaryState): void {
    const latest = this.latest()
    if (latest && !hasSameHistory(latest, state)) {
      this.#states = []
      this.#cachedPosition = 0
    }
    this.#states.push(state)
    if (this.#states.length > maxStates) this.#states.shift()
  }

  latest(): PrimaryState | undefined {
    return this.#states.at(-1)
  }

  /**
   * Records that this process has cached statistics which may contain everything before `position`.
   * A caller may have got them.
   */
  recordCachedPosition(position: number): void {
    this.#cachedPosition = Math.max(this.#cachedPosition, position)
  }

  /** Whether a replica at this place contains everything that this process has cached or sent. */
  includesCachedPositions({ position }: PlaceInHistory): boolean {
    return position >= this.#cachedPosition
  }

  /** Returns the latest state of the primary whose commits a replica at this place contains. */
  latestContainedIn(replica: PlaceInHistory): PrimaryState | undefined {
    return this.#states.findLast(
      (state) => hasSameHistory(state, replica) && state.position <= replica.position,
    )
  }
}

export function hasSameHistory(one: PlaceInHistory, other: PlaceInHistory): boolean {
  return one.databaseId === other.databaseId && one.timeline === other.timeline
}
