// Adds up the queries of some seconds: searches by day, and by text and caller. Bounds how many
// texts one caller, and all together, may add.
import { listReportableWords, toKeptText } from './kept-texts.ts'
import type { ReportHashes } from './report-hashes.ts'
import type { SettledQuery } from './typed-queries.ts'

export type CountedText = {
  kind: 'query' | 'word'
  /** Stays in this process until five callers have searched for it. */
  text: string
  textHash: string
  callers: Set<string>
  searches: number
  withoutResult: number
}

export type Batch = { searches: number; withoutResult: number; texts: CountedText[] }

/** The limits of one batch. A person searches for fewer texts; more of a program do not count. */
const maxTextsPerCaller = 5
const maxTexts = 100
/** A text is stored after this many callers have searched for it. */
export const requiredCallers = 5

/** Returns the counts of these queries. `unknownWords`: words that no product has. */
export function countBatch(
  queries: SettledQuery[],
  unknownWords: Set<string>,
  hashes: ReportHashes,
): Batch {
  const counts = new Map<string, CountedText>()
  const textsByCaller = new Map<string, number>()
  const add = (kind: CountedText['kind'], text: string, { caller, hasHits }: SettledQuery) => {
    const name = `${kind} ${text}`
    const counted = counts.get(name) ?? startCounting(kind, text, hashes)
    counts.set(name, counted)
    counted.searches += 1
    counted.withoutResult += Number(kind === 'word' || !hasHits)
    if (counted.callers.size < requiredCallers)
      counted.callers.add(hashes.hashCaller(caller, counted.textHash))
  }
  for (const query of queries) {
    const text = toKeptText(query.text)
    const ofCaller = textsByCaller.get(query.caller) ?? 0
    if (text === null || ofCaller >= maxTextsPerCaller) continue
    textsByCaller.set(query.caller, ofCaller + 1)
    add('query', text, query)
    for (const word of listReportableWords(text))
      if (unknownWords.has(word)) add('word', word, query)
  }
  const texts = [...counts.values()].toSorted((a, b) => b.callers.size - a.callers.size)
  return {
    searches: queries.length,
    withoutResult: queries.filter(({ hasHits }) => !hasHits).length,
    texts: texts.slice(0, maxTexts),
  }
}

function startCounting(kind: CountedText['kind'], text: string, hashes: ReportHashes): CountedText {
  const textHash = hashes.hashText(kind, text)
  return { kind, text, textHash, callers: new Set(), searches: 0, withoutResult: 0 }
}
