// The rule for cells with an Incoterm. The database allows the same Incoterms.
import { checkOneOf } from './cell-checks.ts'

const incoterms2020 = ['EXW', 'FCA', 'CPT', 'CIP', 'DAP', 'DPU', 'DDP', 'FAS', 'FOB', 'CFR', 'CIF']

export const checkIncoterm = checkOneOf(incoterms2020, 'is not an Incoterms 2020 rule such as FCA')
