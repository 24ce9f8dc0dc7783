// Translates the texts of the OpenAPI document for the Spanish page /docs.
import { createHash } from 'node:crypto'
import { spanishOperations } from './spanish-operations.ts'
import { spanishTexts } from './spanish-texts.ts'

/**
 * The keys whose strings are prose. A field of a schema may have such a name too, but its value is
 * an object.
 */
const proseKeys = ['description', 'summary']
/** The keys of examples, which show what the service sends. */
const untranslatedKeys = ['value', 'example']

type Operation = { operationId: string; summary: string; description: string }
type TextListener = (text: string) => void

/**
 * Returns the Spanish text, or the English one if there is no translation. Calls `onText` with each
 * English text, and `onMissing` with those that have no translation.
 */
export function translateText(
  text: string,
  onMissing?: TextListener,
  onText?: TextListener,
): string {
  onText?.(text)
  const translated = spanishTexts[text]
  if (translated === undefined) onMissing?.(text)
  return translated ?? text
}

/** Returns a copy of a part of the document with its descriptions and summaries in Spanish. */
export function translateDocument<Part>(
  part: Part,
  onMissing?: TextListener,
  onText?: TextListener,
): Part {
  if (Array.isArray(part))
    return part.map((item) => translateDocument(item, onMissing, onText)) as Part
  if (typeof part !== 'object' || part === null) return part
  const operation = isOperation(part) ? spanishOperations[part.operationId] : undefined
  const translate = (key: string, value: unknown): unknown => {
    if (untranslatedKeys.includes(key)) return value
    if (typeof value !== 'string') return translateDocument(value, onMissing, onText)
    if (!proseKeys.includes(key)) return value
    return operation
      ? operation[key as keyof typeof operation]
      : translateText(value, onMissing, onText)
  }
  const entries = Object.entries(part).map(([key, value]) => [key, translate(key, value)])
  return Object.fromEntries(entries) as Part
}

/** Returns a hash of the English text of an operation. A translation names its source by it. */
export function identifySource({ summary, description }: Omit<Operation, 'operationId'>): string {
  return createHash('sha256').update(`${summary}\n${description}`).digest('hex').slice(0, 12)
}

function isOperation(part: object): part is Operation {
  return 'operationId' in part && typeof part.operationId === 'string'
}
