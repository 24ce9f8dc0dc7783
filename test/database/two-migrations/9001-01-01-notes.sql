alter table quotes add column note text;
