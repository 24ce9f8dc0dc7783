// Compares the settings of the index in the engine with those that it should have.
import { isDeepStrictEqual } from 'node:util'
import type { Settings } from 'meilisearch'
import { indexSettings } from './index-settings.ts'

/** The order of these lists counts. All other lists are sets, which the engine may sort. */
const orderedLists = ['searchableAttributes', 'rankingRules']

/** Returns the names of the settings that differ. */
export function listChangedSettings(settings: Settings): string[] {
  const members: Record<string, unknown> = { ...settings }
  return Object.entries(indexSettings)
    .filter(([name, value]) => !isPartOf(value, members[name], name))
    .map(([name]) => name)
}

/**
 * Whether `actual` has every value of `expected`. A different version of the engine may return
 * further members, with their defaults.
 */
function isPartOf(expected: unknown, actual: unknown, name: string): boolean {
  if (typeof expected !== 'object' || expected === null) return expected === actual
  if (typeof actual !== 'object' || actual === null) return false
  if (orderedLists.includes(name)) return isDeepStrictEqual(expected, actual)
  if (Array.isArray(expected)) return Array.isArray(actual) && isSameSet(expected, actual)
  const members: Record<string, unknown> = { ...actual }
  return Object.entries(expected).every(([member, value]) =>
    isPartOf(value, members[member], member),
  )
}

const isSameSet = (expected: unknown[], actual: unknown[]) =>
  expected.length === actual.length &&
  expected.every((item) => actual.some((other) => isPartOf(item, other, '')))
