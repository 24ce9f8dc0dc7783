// Warnings of an import: what was imported although it may be a mistake.
import type { ClientBase } from 'pg'
import { countNoun, formatCount } from '../text/count-noun.ts'
import { ImportError } from './file-format.ts'
import { knownUnits } from './known-words.ts'

/** The text after the number of cases: for one case, and for several. */
const warningTitles = {
  invisible_characters: [
    'SKU with invisible characters, which were removed',
    'SKUs with invisible characters, which were removed',
  ],
  similar_skus: [
    'SKU that differs from another one only by case, blanks or the form of accents',
    'SKUs that differ from another one only by case, blanks or the form of accents',
  ],
  unknown_units: [
    'code of a unit that may be a mistake; it is shown as it is',
    'codes of units that may be mistakes; they are shown as they are',
  ],
  unusual_rate: ['rate that looks wrong', 'rates that look wrong'],
  accepted_without_rate: [
    'accepted quote without a rate, so no total in the base currency includes it',
    'accepted quotes without a rate, so no total in the base currency includes them',
  ],
  identical_lines: [
    'quote with identical lines, whose amounts may count twice',
    'quotes with identical lines, whose amounts may count twice',
  ],
  zero_rate_without_reason: [
    'quote to send with 0 % tax and no tax_reason, which the countries do not decide',
    'quotes to send with 0 % tax and no tax_reason, which the countries do not decide',
  ],
  without_lines: [
    'quote to send without a line that counts',
    'quotes to send without a line that counts',
  ],
  valid_without_end: [
    'quote to send that is valid without end, because valid_until is empty',
    'quotes to send that are valid without end, because valid_until is empty',
  ],
  negative_total: ['quote with a total below zero', 'quotes with a total below zero'],
  not_printable: [
    'quote to send that has no PDF, because its fonts lack characters',
    'quotes to send that have no PDF, because its fonts lack characters',
  ],
  two_dates: ['quote number with two dates', 'quote numbers with two dates'],
  unknown_skus: [
    'pinned SKU that no active product has; search leaves it out',
    'pinned SKUs that no active product has; search leaves them out',
  ],
  missing_quotes: [
    'quote in the period that is not in the file; it was not changed',
    'quotes in the period that are not in the file; they were not changed',
  ],
} as const satisfies Record<string, [one: string, several: string]>
export type WarningKind = keyof typeof warningTitles

/** `count` is the number of all cases. `examples` describes the first ones in the file. */
export type ImportWarning = { kind: WarningKind; count: number; examples: string[] }

const maxExamples = 5

/**
 * Returns a warning of the cases that an SQL query selects, or nothing if there are none. The query
 * has a text column `example`, and the columns that `order` names.
 */
export async function readWarning(
  client: ClientBase,
  kind: WarningKind,
  cases: string,
  { values = [], order = 'file_line, example' }: { values?: string[]; order?: string } = {},
): Promise<ImportWarning[]> {
  const { rows } = await client.query<{ example: string; total: string }>(
    `select example, count(*) over () as total from (${cases}) cases
    order by ${order} limit ${maxExamples}`,
    values,
  )
  const examples = rows.map(({ example }) => example)
  return listWarning(kind, examples, Number(rows[0]?.total ?? 0))
}

/** Returns a warning of these cases, or nothing if there are none. */
export function listWarning(
  kind: WarningKind,
  cases: string[],
  count = cases.length,
): ImportWarning[] {
  return count === 0 ? [] : [{ kind, count, examples: cases.slice(0, maxExamples) }]
}

/** Returns a warning that names each unknown unit of `staged` once. */
export function findUnknownUnits(client: ClientBase): Promise<ImportWarning[]> {
  return readWarning(
    client,
    'unknown_units',
    `select min(file_line) as file_line, format('%s, first on line %s', unit, min(file_line)) as example
    from staged where unit is not null and unit <> all ($1::text[]) group by unit`,
    { values: [`{${[...knownUnits].join(',')}}`] },
  )
}

export function describeWarning({ kind, count, examples }: ImportWarning): string {
  const [one, several] = warningTitles[kind]
  const rest = count - examples.length
  return [
    `warning: ${countNoun(count, one, several)}:`,
    ...examples.map((example) => `  ${example}`),
    ...(rest > 0 ? [`  … and ${formatCount(rest)} more.`] : []),
  ].join('\n')
}

export function throwIfWarned(warnings: ImportWarning[]): void {
  if (warnings.length === 0) return
  throw new ImportError(
    [
      'There are warnings and --strict is set, so nothing was imported:',
      ...warnings.map(describeWarning),
      'Correct the file, or leave out --strict.',
    ].join('\n'),
  )
}
