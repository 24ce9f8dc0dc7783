// The build sets this constant.

/** The languages that have a file palette-texts-LANGUAGE.js. */
declare const paletteLanguages: readonly string[]
