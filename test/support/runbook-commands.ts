// Reads commands from docs/operations/runbook.md, so that a test runs what the runbook says.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const runbook = readFileSync(join(import.meta.dirname, '../../docs/operations/runbook.md'), 'utf8')

/** Returns the code blocks of this language in the chapter whose heading begins so. */
export function readRunbookBlocks(heading: string, language: string): string[] {
  const chapter = runbook.split('\n## ').find((text) => text.startsWith(heading)) ?? ''
  const blocks = chapter.split('\n```')
  return blocks
    .filter((block) => block.startsWith(`${language}\n`))
    .map((block) => block.slice(language.length + 1))
}

/** The settings before a command, and its words. A line with only settings has no words. */
export type RunbookCommand = { settings: Record<string, string>; words: string[] }

/**
 * Returns the command of each line, without its comment. For example,
 * `SEARCH_ENGINE=second scripts/run indexer  # builds the index` has the settings
 * `{ SEARCH_ENGINE: 'second' }` and the words `['scripts/run', 'indexer']`.
 */
export function parseCommands(block: string): RunbookCommand[] {
  return block
    .trim()
    .split('\n')
    .map((line) => {
      const words = (line.split(' #')[0] ?? '').trim().split(' ')
      const isSetting = (word: string) => /^[A-Z_]+=/.test(word)
      const first = words.findIndex((word) => !isSetting(word))
      const settings = first === -1 ? words : words.slice(0, first)
      return {
        settings: Object.fromEntries(settings.map(splitSetting)),
        words: first === -1 ? [] : words.slice(first),
      }
    })
}

function splitSetting(text: string): [name: string, value: string] {
  const end = text.indexOf('=')
  return [text.slice(0, end), text.slice(end + 1)]
}
