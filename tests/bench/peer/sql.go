package main

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

type finding struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
}

// structure is what the text of the SQL says of it.
type structure struct {
	Valid     bool      `json:"valid"`
	Safe      bool      `json:"safe"`
	Tables    []string  `json:"tables"`
	Columns   []string  `json:"columns"`
	Functions []string  `json:"functions"`
	Joins     int       `json:"joins"`
	Depth     int       `json:"depth"`
	Findings  []finding `json:"findings"`
	ctes      []string
}

// dangerous functions read files, sleep, or run SQL of their own.
var dangerous = map[string]bool{"pg_sleep": true, "pg_read_file": true, "pg_ls_dir": true, "lo_import": true, "lo_export": true, "dblink": true,
	"query_to_xml": true, "set_config": true, "pg_terminate_backend": true, "nextval": true, "setval": true}

var aggregates = map[string]bool{"count": true, "sum": true, "avg": true, "min": true, "max": true, "array_agg": true, "string_agg": true}

func (s *structure) say(severity, code, message string) {
	s.Findings = append(s.Findings, finding{severity, code, message})
}

func add(list *[]string, name string) {
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

func (s *structure) technical() float64 {
	if !s.Valid {
		return 0
	}
	points := 100.0
	for _, f := range s.Findings {
		if f.Severity == "ERROR" {
			points -= 20
		} else {
			points -= 5
		}
	}
	return max(0, points) / 100
}

func analyse(sql string) *structure {
	s := &structure{}
	tree, err := pg.Parse(sql)
	if err != nil {
		s.say("ERROR", "SYNTAX", err.Error())
		return s
	}
	if len(tree.Stmts) != 1 {
		s.say("ERROR", "NOT_ONE_STATEMENT", "there is not exactly one statement")
		return s
	}
	s.Valid = true
	query := tree.Stmts[0].Stmt.GetSelectStmt()
	if query == nil {
		s.say("ERROR", "NOT_A_SELECT", "only SELECT is allowed")
		return s
	}
	s.Safe = true
	s.selects(query, 1)
	if query.LimitCount == nil && len(query.GroupClause) == 0 && !s.aggregated() {
		s.say("WARNING", "NO_LIMIT", "the result has no limit")
	}
	return s
}

func (s *structure) aggregated() bool {
	return slices.ContainsFunc(s.Functions, func(name string) bool { return aggregates[name] })
}

func (s *structure) refuse(code, message string) {
	s.Safe = false
	s.say("ERROR", code, message)
}

func (s *structure) selects(q *pg.SelectStmt, depth int) {
	if q == nil {
		return
	}
	s.Depth = max(s.Depth, depth)
	if q.IntoClause != nil {
		s.refuse("WRITES", "SELECT INTO creates a table")
	}
	if len(q.LockingClause) > 0 {
		s.refuse("LOCKS", "the query locks rows")
	}
	if q.WithClause != nil {
		for _, node := range q.WithClause.Ctes {
			if cte := node.GetCommonTableExpr(); cte != nil {
				add(&s.ctes, cte.Ctename)
				inner := cte.Ctequery.GetSelectStmt()
				if inner == nil {
					s.refuse("WRITES", "a WITH query is no SELECT")
				}
				s.selects(inner, depth+1)
			}
		}
	}
	if q.Op != pg.SetOperation_SETOP_NONE {
		s.selects(q.Larg, depth)
		s.selects(q.Rarg, depth)
	}
	if len(q.FromClause) > 1 && q.WhereClause == nil {
		s.say("WARNING", "CARTESIAN_PRODUCT", "tables are listed with nothing that joins them")
	}
	for _, target := range q.TargetList {
		if ref := target.GetResTarget().GetVal().GetColumnRef(); ref != nil && ref.Fields[len(ref.Fields)-1].GetAStar() != nil {
			s.say("WARNING", "SELECT_STAR", "the columns are not named")
		}
	}
	for _, sort := range q.SortClause {
		if sort.GetSortBy().GetNode().GetAConst() != nil {
			s.say("WARNING", "ORDER_BY_NUMBER", "the order goes by a column's number")
		}
	}
	if q.LimitCount != nil && len(q.SortClause) == 0 {
		s.say("WARNING", "LIMIT_WITHOUT_ORDER", "which rows a limit leaves is chance without an order")
	}
	s.all(q.DistinctClause, depth)
	s.all(q.TargetList, depth)
	s.all(q.FromClause, depth)
	s.node(q.WhereClause, depth)
	s.all(q.GroupClause, depth)
	s.node(q.HavingClause, depth)
	s.all(q.WindowClause, depth)
	s.all(q.ValuesLists, depth)
	s.all(q.SortClause, depth)
	s.node(q.LimitCount, depth)
	s.node(q.LimitOffset, depth)
}

func (s *structure) all(nodes []*pg.Node, depth int) {
	for _, node := range nodes {
		s.node(node, depth)
	}
}

func name(fields []*pg.Node) string {
	if len(fields) == 1 {
		return fields[0].GetString_().GetSval()
	}
	var b strings.Builder
	for i, field := range fields {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(field.GetString_().GetSval())
	}
	return b.String()
}

func (s *structure) call(f *pg.FuncCall, depth int) {
	called := name(f.Funcname)
	add(&s.Functions, called)
	if dangerous[strings.TrimPrefix(called, "pg_catalog.")] {
		s.refuse("DANGEROUS_FUNCTION", called+" must not be called")
	}
	s.all(f.Args, depth)
	s.all(f.AggOrder, depth)
	s.node(f.AggFilter, depth)
	if f.Over != nil {
		s.all(f.Over.PartitionClause, depth)
		s.all(f.Over.OrderClause, depth)
	}
}

func (s *structure) table(r *pg.RangeVar) {
	if r.Schemaname != "" {
		add(&s.Tables, r.Schemaname+"."+r.Relname)
	} else if !slices.Contains(s.ctes, r.Relname) {
		add(&s.Tables, r.Relname)
	}
}

func (s *structure) node(node *pg.Node, depth int) {
	if node == nil {
		return
	}
	switch n := node.Node.(type) {
	case *pg.Node_ColumnRef:
		if n.ColumnRef.Fields[len(n.ColumnRef.Fields)-1].GetAStar() == nil {
			add(&s.Columns, name(n.ColumnRef.Fields))
		}
	case *pg.Node_RangeVar:
		s.table(n.RangeVar)
	case *pg.Node_ResTarget:
		s.node(n.ResTarget.Val, depth)
	case *pg.Node_FuncCall:
		s.call(n.FuncCall, depth)
	case *pg.Node_AExpr:
		if n.AExpr.Kind == pg.A_Expr_Kind_AEXPR_LIKE && strings.HasPrefix(n.AExpr.Rexpr.GetAConst().GetSval().GetSval(), "%") {
			s.say("WARNING", "LEADING_WILDCARD", "no index serves a pattern that begins with %")
		}
		s.node(n.AExpr.Lexpr, depth)
		s.node(n.AExpr.Rexpr, depth)
	case *pg.Node_BoolExpr:
		s.all(n.BoolExpr.Args, depth)
	case *pg.Node_NullTest:
		s.node(n.NullTest.Arg, depth)
	case *pg.Node_BooleanTest:
		s.node(n.BooleanTest.Arg, depth)
	case *pg.Node_SubLink:
		s.node(n.SubLink.Testexpr, depth)
		s.selects(n.SubLink.Subselect.GetSelectStmt(), depth+1)
	case *pg.Node_JoinExpr:
		s.Joins++
		if n.JoinExpr.Quals == nil && len(n.JoinExpr.UsingClause) == 0 && !n.JoinExpr.IsNatural {
			s.say("WARNING", "CROSS_JOIN", "a join has no condition")
		}
		s.node(n.JoinExpr.Larg, depth)
		s.node(n.JoinExpr.Rarg, depth)
		s.node(n.JoinExpr.Quals, depth)
	case *pg.Node_RangeSubselect:
		s.selects(n.RangeSubselect.Subquery.GetSelectStmt(), depth+1)
	case *pg.Node_RangeFunction:
		s.all(n.RangeFunction.Functions, depth)
	case *pg.Node_List:
		s.all(n.List.Items, depth)
	case *pg.Node_CaseExpr:
		s.node(n.CaseExpr.Arg, depth)
		s.all(n.CaseExpr.Args, depth)
		s.node(n.CaseExpr.Defresult, depth)
	case *pg.Node_CaseWhen:
		s.node(n.CaseWhen.Expr, depth)
		s.node(n.CaseWhen.Result, depth)
	case *pg.Node_CoalesceExpr:
		s.all(n.CoalesceExpr.Args, depth)
	case *pg.Node_MinMaxExpr:
		s.all(n.MinMaxExpr.Args, depth)
	case *pg.Node_TypeCast:
		s.node(n.TypeCast.Arg, depth)
	case *pg.Node_SortBy:
		s.node(n.SortBy.Node, depth)
	case *pg.Node_WindowDef:
		s.all(n.WindowDef.PartitionClause, depth)
		s.all(n.WindowDef.OrderClause, depth)
	case *pg.Node_AArrayExpr:
		s.all(n.AArrayExpr.Elements, depth)
	case *pg.Node_AIndirection:
		s.node(n.AIndirection.Arg, depth)
	case *pg.Node_RowExpr:
		s.all(n.RowExpr.Args, depth)
	case *pg.Node_GroupingSet:
		s.all(n.GroupingSet.Content, depth)
	case *pg.Node_SelectStmt:
		s.selects(n.SelectStmt, depth+1)
	}
}
