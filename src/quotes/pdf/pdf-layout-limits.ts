// How much text fits into the columns of numbers, and into the header and footer of each page of
// the PDF. The rest of the layout is in pdf-template.typ.

/**
 * The maximum total width of the columns of numbers, in characters. If they are wider, the table
 * has another layout. A character is about 4.7 pt wide, and the text area of the page 493 pt.
 */
export const pdfMaxNumericColumnsWidth = 58
/** The maximum length of the seller's name in the header and footer, in characters. */
export const pdfMaxRunningNameLength = 60
/** The maximum length of the quote number in the header and footer, in characters. */
export const pdfMaxRunningNumberLength = 40
