// All that a history is about.
import { linksSubject } from './links.ts'
import { searchSubject } from './search.ts'
import { statsSubject } from './stats.ts'
import type { Subject } from './subject.ts'

/** Fresh ones for a history: some remember what they saw in it. */
export const makeSubjects = (): [Subject, ...Subject[]] => [
  searchSubject(),
  statsSubject(),
  linksSubject(),
]
