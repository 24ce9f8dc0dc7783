// Finds fields of the document that a quote of the tests lacks, so that a new field cannot be
// forgotten there.
import type { TSchema } from '@sinclair/typebox'
import { QuoteDocument } from '../../../src/quotes/schema.ts'

/** Fields that replace the usual texts of a quote. Tests of their own show them. */
const legalTextFields = ['legalForLines', 'legalInOtherLanguages', 'legalTranslations']

/**
 * Returns the paths of the fields that are missing or null in the document, such as
 * `lines[].hsCode`. Leaves out `others` and the legal texts of single lines and other languages.
 */
export function findMissingFields(document: object, others: string[] = []): string[] {
  const present = new Set(listValues(document))
  const leftOut = [...legalTextFields, ...others]
  return listFields(QuoteDocument).filter(
    (field) => !present.has(field) && !leftOut.some((name) => field.startsWith(name)),
  )
}

function listFields(schema: TSchema, path = ''): string[] {
  const { properties, items, anyOf } = schema
  if (properties)
    return Object.entries<TSchema>(properties).flatMap(([name, inner]) =>
      listFields(inner, join(path, name)),
    )
  if (items) return listFields(items, `${path}[]`)
  if (anyOf) return [...new Set((anyOf as TSchema[]).flatMap((inner) => listFields(inner, path)))]
  return schema.type === 'null' ? [] : [path]
}

function listValues(value: unknown, path = ''): string[] {
  if (value === null) return []
  if (typeof value !== 'object') return [path]
  if (Array.isArray(value)) return value.flatMap((item) => listValues(item, `${path}[]`))
  return Object.entries(value as object).flatMap(([name, inner]) =>
    listValues(inner, join(path, name)),
  )
}

const join = (path: string, name: string) => (path === '' ? name : `${path}.${name}`)
