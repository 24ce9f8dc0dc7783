alter table quotes add column reminder text;
alter table quotes alter column note set default '';
