// The formats of files: delimiter, decimal sign, order of dates and encoding.

export type FileFormat = {
  delimiter: ',' | ';' | '\t' | '|'
  /** The decimal sign of numbers. */
  decimal: '.' | ','
  /** The order of year, month and day. */
  dates: 'ymd' | 'dmy' | 'mdy'
  /** `auto`: the first bytes beyond ASCII decide between UTF-8 and Windows-1252. */
  encoding: 'utf-8' | 'windows-1252' | 'auto'
}

/** The format that a file seems to have. */
export type SuggestedFormat = FileFormat & {
  /** A date of the file such as 03/04/2026, if `dates` is `dmy` but no date shows the order. */
  ambiguousDate?: string
}

/** The words that the options for the parts of a format accept, with their values. */
export const formatWords = {
  delimiter: { comma: ',', semicolon: ';', tab: '\t', bar: '|' },
  decimal: { point: '.', comma: ',' },
  dates: { ymd: 'ymd', dmy: 'dmy', mdy: 'mdy' },
  encoding: { 'utf-8': 'utf-8', 'windows-1252': 'windows-1252', auto: 'auto' },
} as const satisfies { [Part in keyof FileFormat]: Record<string, FileFormat[Part]> }

/** The names of the delimiters in messages. */
export const delimiterNames = {
  ',': { one: 'comma', several: 'commas' },
  ';': { one: 'semicolon', several: 'semicolons' },
  '\t': { one: 'tab', several: 'tabs' },
  '|': { one: 'bar', several: 'bars' },
} as const satisfies Record<FileFormat['delimiter'], { one: string; several: string }>

/** Spanish Excel and `/api/stats?format=csv&locale=es` write `es`. */
export const formats = {
  en: { delimiter: ',', decimal: '.', dates: 'ymd', encoding: 'utf-8' },
  es: { delimiter: ';', decimal: ',', dates: 'dmy', encoding: 'auto' },
} as const satisfies Record<string, FileFormat>
