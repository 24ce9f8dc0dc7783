// How files may be written, what the user says about one, and the error of a rejected import.

/** The message says why nothing was imported, what to do, and the line if there is one. */
export class ImportError extends Error {}

/** How a text file is written. */
export type FileFormat = {
  encoding: 'utf-8' | 'windows-1252' | 'utf-16le' | 'utf-16be'
  delimiter: ',' | ';' | '\t' | '|'
  /** The decimal sign. The other sign may separate thousands. */
  numbers: '.' | ','
  /** The order of dates such as 03/04/2026. `ymd`: there are none. */
  dates: 'ymd' | 'dmy' | 'mdy'
}

/** The words that the options for the parts of a format accept, with their values. */
export const formatWords = {
  encoding: { 'utf-8': 'utf-8', 'windows-1252': 'windows-1252' },
  delimiter: { comma: ',', semicolon: ';', tab: '\t', bar: '|' },
  numbers: { point: '.', comma: ',' },
  dates: { ymd: 'ymd', dmy: 'dmy', mdy: 'mdy' },
} as const satisfies { [Part in keyof FileFormat]: Record<string, FileFormat[Part]> }

export const delimiterNames = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'bar' } as const

/** What the user says about the file. Everything else is found out from the file. */
export type TableOptions = {
  format?: Partial<FileFormat>
  /** The columns of the import by the names that the header has (--map). */
  columnNames?: ReadonlyMap<string, string>
  /** Columns of the file without a meaning are left out (--ignore-unknown). */
  ignoresUnknown?: boolean
  /** Values for the cells that the file leaves empty or lacks, by column (--set, --currency). */
  defaults?: Readonly<Record<string, string>>
  /** The name of the sheet of a workbook. Default: the first one. */
  sheet?: string
}

/**
 * The columns that come before those of the imported file in a file of rejected rows. An import
 * ignores them, so a corrected file of rejected rows can be imported as it is.
 */
export const rejectedRowColumns = ['line', 'reason'] as const
