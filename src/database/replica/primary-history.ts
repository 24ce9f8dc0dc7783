// Keeps recent readings of the primary, to find the latest one that a replica has caught up with.

/**
 * What a process has read from the primary, at `readAt` (performance.now) or later. Every commit
 * before that moment is in `version`, and in the WAL before `position`.
 */
export type PrimaryReading = {
  databaseId: string
  timeline: number
  position: number
  version: { generation: string; changes: number }
  readAt: number
}

/** A place in the history of a database. A position has a meaning only in its timeline. */
export type PlaceInHistory = Pick<PrimaryReading, 'databaseId' | 'timeline' | 'position'>

/** Readings are made a few times a second. A replica that is further behind is not used. */
const maxReadings = 100

export class PrimaryHistory {
  /** The oldest one first, all of one database and timeline. */
  #readings: PrimaryReading[] = []
  #sentPosition = 0

  add(reading: PrimaryReading): void {
    const latest = this.latest()
    if (latest && !hasSameHistory(latest, reading)) {
      this.#readings = []
      this.#sentPosition = 0
    }
    this.#readings.push(reading)
    if (this.#readings.length > maxReadings) this.#readings.shift()
  }

  latest(): PrimaryReading | undefined {
    return this.#readings.at(-1)
  }

  /** Records that a caller got figures which may contain everything before `position`. */
  recordSentPosition(position: number): void {
    this.#sentPosition = Math.max(this.#sentPosition, position)
  }

  /** Whether a replica at this place contains all figures that this process has sent. */
  includesSentPositions({ position }: PlaceInHistory): boolean {
    return position >= this.#sentPosition
  }

  /** Returns the latest reading whose commits a replica at this place contains. */
  latestContainedIn(replica: PlaceInHistory): PrimaryReading | undefined {
    return this.#readings.findLast(
      (reading) => hasSameHistory(reading, replica) && reading.position <= replica.position,
    )
  }
}

export function hasSameHistory(one: PlaceInHistory, other: PlaceInHistory): boolean {
  return one.databaseId === other.databaseId && one.timeline === other.timeline
}
