// How much of a rebuild the engine gets at once. It works on one batch after the other, and what came last waits for all before it.

/** Documents in an upload. */
const most = 20_000
const fewest = 2_500
/** What may be on its way at most; at the engine it lies on the disk. */
const mostBytes = 512_000_000
/** While changes are coming in, they wait for one upload at most, and that is cut to take about so long. */
const busyMs = 2_500
const calmAfterMs = 10_000
/** Documents that the engine takes in a second, a guess to begin with. */
const cautious = 1_000

export type OnTheWay = { uploads: number; documents: number; bytes: number }

export type Pace = {
  /** How many documents the next upload should have. */
  size(): number
  hasRoom(onTheWay: OnTheWay): boolean
  /** Something changed that must be searchable soon. Answers whether what is on its way must be taken back for it. */
  changed(onTheWay: OnTheWay, isUrgent: boolean): boolean
  /** The engine took so many documents in so many milliseconds. */
  took(documents: number, ms: number): void
}

export function newPace(): Pace {
  let perSecond = cautious
  let isFirst = true
  let changedAt = Number.NEGATIVE_INFINITY
  const calmMs = () => performance.now() - changedAt
  const isCalm = () => calmMs() > calmAfterMs
  return {
    size() {
      if (isFirst) return fewest // so that the engine has something to do
      return isCalm()
        ? most
        : Math.round(Math.min(most, Math.max(fewest, (perSecond * busyMs) / 1_000)))
    },
    // It will probably stay calm for as long as it has been calm; what takes longer might have to be done twice.
    hasRoom({ uploads, documents, bytes }) {
      isFirst = isFirst && uploads === 0
      if (uploads === 0) return true
      return isCalm() && bytes < mostBytes && documents < (perSecond * calmMs()) / 1_000
    },
    changed({ documents }, isUrgent) {
      const wasCalm = isCalm()
      changedAt = performance.now()
      const isTooMuch = documents > fewest && (wasCalm || isUrgent)
      if (isTooMuch) perSecond = wasCalm ? cautious : perSecond / 2
      return isTooMuch
    },
    took(documents, ms) {
      perSecond = (documents / ms) * 1_000
    },
  }
}
