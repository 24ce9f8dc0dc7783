// How much text fits into the PDF: its columns of numbers, and the header and footer of each page.
// The rest of the layout is in pdf-template.typ.

/**
 * With wider columns of numbers, in characters, the table has another layout. A character is about
 * 4.7 pt wide, and the text area of the page is 493 pt wide.
 */
export const maxNumericColumnsWidth = 58
/** The length in characters of the seller's name in the header and footer of each page. */
export const maxRunningNameLength = 60
/** The length in characters of the quote number there. */
export const maxRunningNumberLength = 40
