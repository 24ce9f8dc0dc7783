// The command scripts/import.ts, as a function: what it accepts, does, prints and returns.
import type { Kysely } from 'kysely'
import { readImportConfig } from '../../src/config.ts'
import { createKysely, openPool } from '../../src/database/postgres-pool.ts'
import { statusNames } from '../../src/database/quote-statuses.ts'
import type { Tables } from '../../src/database/table-types.ts'
import {
  type FileKind,
  fileKinds,
  quoteLineFields,
  repeatedQuoteFields,
} from '../../src/imports/file-kinds.ts'
import { defaultDeactivationLimitPercent } from '../../src/imports/import-products.ts'
import { maxUsualRateFactor } from '../../src/imports/quotes/quote-warnings.ts'
import { describeError } from '../../src/monitoring/describe-error.ts'
import { foldUntilCurrent } from '../../src/stats/summary/fold-statistics.ts'
import { type CommandContext, defineProgram, UsageError } from './command.ts'
import { importArguments, parseImportOptions } from './import-arguments.ts'
import { importFile } from './import-file.ts'

const help = `
Usage: node scripts/import.ts products FILE [--full [--allow-removals N%]] [OPTIONS]
       node scripts/import.ts quotes FILE [--full --from DAY --to DAY] [OPTIONS]
       node scripts/import.ts quote-statuses FILE [OPTIONS]
       node scripts/import.ts synonyms|pins|hidden-words FILE [--full] [OPTIONS]

Imports a file into DATABASE_URL in one transaction: everything, or nothing if a row is invalid. FILE
is CSV, gzipped or not, an Excel workbook (.xlsx), JSON lines, or - for standard input.

  --full            products: the file is the whole catalogue. Products that are not in it become
                    inactive. Those in it become active, unless the column active says no.
                    quotes: the file has every quote issued from DAY to DAY. A warning names the
                    quotes that are not in it; they stay as they are.
                    words: the file is the whole list. Rows that are not in it are deleted. A file
                    without any row is rejected, because it is usually a mistake.
  --allow-removals  the percentage of the active products that --full may make inactive. If there
                    are more, nothing is imported, because the file may be cut short.
                    Default: ${defaultDeactivationLimitPercent}%
  --rejects FILE    import the valid rows and write the invalid ones to this CSV file, with the
                    columns line and reason before their own. Correct them there and import that
                    file: the columns line and reason are ignored. If one row of a quote is invalid,
                    the whole quote is rejected. Nothing is imported if the number of an invalid
                    row is unknown: it is empty, or a comma before it has moved it. The same holds
                    for the SKU or word with --full. The file exists only if rows were rejected; an
                    older one of that name is removed.
  --replace         quotes: columns that the file does not have are emptied in existing quotes
  --strict          import nothing if there are warnings
  --dry-run         do all checks and print what the import would do, but write nothing
  --json            print the summary as one JSON object

Warnings name what was imported but may be a mistake: rates that differ from the usual rate of their
currency by more than a factor of ${maxUsualRateFactor} or look inverted, percentages that
look like fractions, accepted quotes without a rate, identical lines in a quote, a quote number with
two dates, quotes to send without valid_until or lines, with a total below zero, 0 % tax without a
reason, characters that no PDF can show, quotes that a full file does not have, pinned SKUs that no
active product has, SKUs that differ only by case or blanks or have invisible characters, and
unknown codes of units.

Columns. The first row names them, in any order, without regard to case and accents. The usual names
of WooCommerce, Shopify, PrestaShop, Magento, Odoo and Spanish programs are known:
  --map "NAME=column"       this column of the file is that column of the import (repeatable)
  --ignore-unknown          leave out columns that have no meaning here
  --currency EUR            the currency of rows that have none
  --set column=VALUE        the value of rows that have none in this column (repeatable)

Form of the file. It is found out from the whole file and printed. If a file allows two readings,
nothing is imported until one of these options decides:
  --numbers point|comma     the decimal sign. The other sign may separate thousands
  --dates dmy|mdy|ymd       31/12/2026, 12/31/2026, or only 2026-12-31, which is always accepted
  --delimiter comma|semicolon|tab|bar
  --encoding utf-8|windows-1252
  --sheet NAME              the sheet of a workbook. Default: the first visible one
Cells with a delimiter are in quotation marks. Spaces around a cell and invisible characters are
removed, an empty cell means no value, blank rows are skipped, and empty cells at the end of a row
may be left out.

Columns of products (required: ${fileKinds.products.required.join(', ')}; name for new products):
${wrapColumns(fileKinds.products.allowed)}
  The sku identifies a product. Columns that the file does not have keep their values. A product
  has both a price and a currency, or neither. active is true (or yes, sí, verdadero, 1, or empty)
  or false (or no, falso, 0), in upper or lower case.

Columns of quotes, of which these are required:
${wrapColumns(fileKinds.quotes.required)}
All fields of a quote:
${wrapColumns(['number', 'version', ...repeatedQuoteFields])}
  and for each line of the quote, which is one row:
${wrapColumns(quoteLineFields)}
  number and version (1 if empty) identify a quote. Its rows may be anywhere in the file, and the
  fields of the quote must be the same on each of them. Lines are replaced as a whole if they
  changed. Fields of a quote whose column the file does not have stay as they are. If lines have
  values in such a column, nothing is imported without --replace.
  status is one of:
${wrapColumns(statusNames)}
  A newer version makes the older ones superseded when it was sent: with every status but draft
  and superseded.
  rate is the number of base currency units for one unit of the quote's currency: 1 or empty for
  the base currency, empty if it is unknown.
  quantity and unit_price may be negative, for returns and deductions; the net of a quote may not
  be below zero. tax_label is the name of the tax, such as IVA, IGIC or GST.
  position may be empty on all rows of a quote: its lines are then numbered in file order.
  An unknown customer (name, tax id, country) is created; existing customers are not changed.

Columns of quote-statuses: ${fileKinds['quote-statuses'].allowed.join(', ')}
  What an ERP sends most often. Without a version it is the newest one. An empty decided_on stays
  as it is.

Words for search. The first column identifies a row; | separates the values of a list. They apply
within seconds, in every process, and the index is not rebuilt.
Columns of synonyms: ${fileKinds.synonyms.allowed.join(', ')}
  A search for the word, or any of its 1 to 20 synonyms, finds products with any of them. two_way
  no: only a search for the word does. A word or synonym has up to 3 words and 50 characters. A
  synonym is not followed further. Built-in synonyms of trade apply besides, see hidden-words.
Columns of pins: ${fileKinds.pins.allowed.join(', ')}
  The products with these SKUs come first if somebody searches for exactly this text, whatever its
  case and accents. Only an exact SKU comes before them. They obey category and brand.
Columns of hidden-words: ${fileKinds['hidden-words'].allowed.join(', ')}
  hides is synonyms, which switches off the built-in synonyms and translations of the word (* for
  all of them), or word: search ignores the word if others are typed with it. Empty: synonyms.

Exit status: 0 imported; 3 imported with warnings; 4 imported, but rows were rejected to a file;
1 nothing was imported, unless the error says something else; 2 wrong usage; 130, 143 or 129
stopped by Ctrl+C, SIGTERM or SIGHUP, nothing was imported.
`

export type ImportContext = CommandContext & {
  /** Aborted with the exit status: nothing is imported. */
  signal: AbortSignal
}

export const runImportCommand = defineProgram(
  help,
  importArguments,
  async (values, [kind, file, ...others], context: ImportContext) => {
    const { env, openInput, signal, printLine, printError } = context
    if (!isFileKind(kind))
      throw new UsageError(
        `Name what to import: ${Object.keys(fileKinds).join(', ')}, and the file.`,
      )
    if (!file) throw new UsageError('Name the file to import, or - for standard input.')
    if (others.length > 0)
      throw new UsageError(`Import one file at a time: remove ${others.join(' ')}.`)
    if (values.rejects === '') throw new UsageError('--rejects needs the name of a file.')
    const options = parseImportOptions(kind, values)
    const pool = openPool(readImportConfig(env).DATABASE_URL, { connections: 2 })
    const db = createKysely(pool)
    try {
      const result = await importFile(pool, {
        kind,
        file,
        standardInput: openInput(),
        rejectsName: values.rejects,
        signal,
        isJson: values.json === true,
        options,
      })
      printLine(result.text)
      if (kind === 'quotes' || kind === 'quote-statuses') await addToStatistics(db, context)
      return result.status
    } catch (error) {
      // Any other error may come from after the commit, so it is reported as it is.
      if (!signal.aborted || error !== signal.reason) throw error
      printError('Stopped: nothing was imported.')
      return signal.reason
    } finally {
      await db.destroy()
    }
  },
)

/** The statistics contain the quotes when the command ends, even if no API is running. */
async function addToStatistics(db: Kysely<Tables>, { signal, printError }: ImportContext) {
  const notice = setTimeout(() => printError('Adding the quotes to the statistics …'), 2_000)
  try {
    await foldUntilCurrent(db, signal)
  } catch (error) {
    const cause = signal.aborted ? 'stopped' : describeError(error)
    printError(`Imported, but not yet in the statistics (${cause}): a running API adds it.`)
  } finally {
    clearTimeout(notice)
  }
}

function isFileKind(kind: string | undefined): kind is FileKind {
  return kind !== undefined && Object.hasOwn(fileKinds, kind)
}

/** Returns the columns in lines of at most 100 characters. */
function wrapColumns(columns: readonly string[]): string {
  const lines = ['']
  for (const column of columns) {
    const line = lines.at(-1) ?? ''
    if (line.length + column.length < 96) lines[lines.length - 1] = `${line} ${column}`
    else lines.push(` ${column}`)
  }
  return lines.map((line) => ` ${line}`).join('\n')
}
