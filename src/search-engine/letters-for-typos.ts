// How many letters a word must have to be found with a typo: in the engine, in PostgreSQL, and in
// the ranking of relaxed queries.

export const oneTypoLetters = 4
export const twoTyposLetters = 8
